import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Applications } from '../../domain/applications/applications.js'
import type { Authorizations } from '../../domain/authorizations/authorizations.js'
import { userInfoOf } from '../../domain/id-tokens/user-claims.js'
import { limiters } from '../../domain/limiters/limiters.js'
import type { CountedRequests } from '../../http/limits/counted-requests.js'
import type { Limiter } from '../../http/limits/limiter.js'
import { formOf } from '../../http/protocol/forms.js'
import type { ProtocolDoor } from '../../http/protocol/protocol-door.js'
import { sendProtocolError } from '../../http/protocol/protocol-errors.js'
import type { Server } from '../../http/server.js'

const url = '/api/auth/userinfo'

const authorizationLimiter: Limiter = { name: 'userinfo', limit: limiters.userinfo.limit, code: 'too_many_requests' }

const bearer = /^Bearer +([\w-]{43})$/i

/**
 * Reads the token from the header (RFC 6750, 2.1) or from the form of a POST (2.2). `twice`: sent in two ways, or more than once.
 * `none`: not sent. `token` is undefined if the header does not hold a token of our form.
 */
const readToken = (request: FastifyRequest) => {
  const { values, repeated } = formOf(request)
  const inForm = values.get('access_token')
  const [authorization, ...furtherHeaders] = request.raw.headersDistinct.authorization ?? []
  if (furtherHeaders.length > 0 || repeated.length > 0 || (authorization !== undefined && inForm !== undefined))
    return 'twice'
  if (authorization === undefined && inForm === undefined) return 'none'
  return { token: authorization === undefined ? inForm : bearer.exec(authorization)?.[1] }
}

type Nouns = { applications: Pick<Applications, 'list'>; authorizations: Pick<Authorizations, 'grantOfAccessToken'> }

type Dependencies = { protocolDoor: ProtocolDoor<Nouns>; countedRequests: Pick<CountedRequests, 'count'> }

/** Answers with the claims of the user of an access token, as they are now (OpenID Connect Core 5.3). */
export const openidUserinfoRoutes = (server: Server, { protocolDoor, countedRequests }: Dependencies) => {
  protocolDoor.answerPreflights(server, url)

  const answer = async (nouns: Nouns, request: FastifyRequest, reply: FastifyReply) => {
    const sentToken = readToken(request)
    if (sentToken === 'twice')
      return sendProtocolError(
        reply,
        { error: 'invalid_request', description: 'The token was sent in two ways' },
        'bearer',
      )
    const invalid = { error: 'invalid_token', description: 'An access token is needed', status: 401 } as const
    if (sentToken === 'none') return sendProtocolError(reply, invalid, 'bearerWithoutError')
    const grant =
      sentToken.token === undefined ? undefined : await nouns.authorizations.grantOfAccessToken(sentToken.token)
    if (!grant) return sendProtocolError(reply, { ...invalid, description: 'The access token is not valid' }, 'bearer')
    if (await countedRequests.count(authorizationLimiter, `authorization:${grant.authorizationId}`, request, reply))
      return reply
    if (!grant.content.scopes.includes('openid')) {
      const fault = { error: 'insufficient_scope', description: 'The scope openid is needed', status: 403 } as const
      return sendProtocolError(reply, fault, 'bearer')
    }
    return reply.send(userInfoOf(grant.subject, grant.content))
  }

  for (const method of ['GET', 'POST'] as const)
    server.route({
      method,
      url,
      schema: { hide: true },
      config: { countsIn: ['userinfo'] },
      ...protocolDoor.through(answer),
    })
}
