import type { FastifyReply, FastifyRequest } from 'fastify'
import { isRefused, refuse } from '../../contract/outcome.js'
import { sendProtocolError } from '../../http/errors.js'
import { type Form, formOf } from '../../http/forms.js'
import { fixedLimiter } from '../../http/limiters.js'
import { clientNetwork, clientOf } from '../../http/request-origin.js'
import { route, routeRefusals } from '../../http/route.js'
import type { Server } from '../../http/server.js'
import { fingerprint } from '../../lib/random.js'
import { RecentMap } from '../../lib/recent.js'
import type { App } from '../../service/open-http.js'
import type { ClientRoutes } from '../client-authentication.js'
import type { OpenidRoom } from '../open-openid.js'
import { isSentByPage, type ProtocolDoor } from '../openid-door.js'
import { checksClient, grantTokens, grantTypeOf } from './grant-table.js'
import { userInfoOf } from './user-claims.js'

/** The outcome that the metrics count for a client that was refused before its grant, by the status of the answer. */
const clientRefusals: Readonly<Record<number, string>> = { 401: 'invalid_client', 429: 'rate_limited' }

const maxValidTokens = 10_000

/**
 * The hashes of access tokens that were valid when they were issued or came last, the oldest first. Who checks the tokens of all its users at
 * UserInfo is one network, and a stranger can make it ask about random ones: those must not stop users who are known.
 */
export const createValidTokens = () => {
  const hashes = new RecentMap<string, true>(maxValidTokens)
  const textOf = (hash: Buffer) => hash.toString('base64url')
  return {
    has: (hash: Buffer) => hashes.has(textOf(hash)),
    delete: (hash: Buffer) => hashes.delete(textOf(hash)),
    add: (hash: Buffer) => hashes.set(textOf(hash), true),
  }
}
type ValidTokens = ReturnType<typeof createValidTokens>

/** Exchanges codes and refresh tokens for tokens (RFC 6749, 3.2). */
export const openidTokenRoutes = (
  server: Server,
  { metrics }: App,
  clientRoutes: ClientRoutes,
  validTokens: ValidTokens,
) => {
  const count = (form: Form, outcome: string) => {
    metrics?.countTokens(grantTypeOf(form) ?? 'other', outcome)
  }
  const onClientRefused = (form: Form, status: number) => count(form, clientRefusals[status] ?? 'refused')
  const options = { onClientRefused, checksClient }
  clientRoutes.add(server, '/api/auth/token', options, async (openid, { client, remembered, form, request, reply }) => {
    const granted = await grantTokens({ client, remembered, form, origin: clientOf(request) }, openid)
    if (isRefused(granted) && granted.refused === 'unconfirmed') return granted
    // No statement was asked, so nothing has checked the client.
    if (isRefused(granted) && remembered && granted.outcome === 'refused') return refuse('unconfirmed')
    count(form, isRefused(granted) ? granted.outcome : 'issued')
    if (!isRefused(granted)) validTokens.add(fingerprint(granted.access_token))
    // RFC 6749, 5.1.
    reply.header('pragma', 'no-cache')
    return isRefused(granted) ? sendProtocolError(reply, granted.fault) : reply.send(granted)
  })
}

/** RFC 7009, 2.1. Only who holds the token can ask, and learns that it is not theirs. */
const othersToken = { error: 'invalid_grant', description: 'The token was given to another client' } as const

/** RFC 7009. The answer is 200 also for a token that is unknown (2.2). */
export const openidRevokeRoutes = (server: Server, clientRoutes: ClientRoutes) =>
  clientRoutes.add(server, '/api/auth/revoke', {}, async (openid, { client, form, request, reply }) => {
    const token = form.values.get('token')
    if (token === undefined)
      return sendProtocolError(reply, { error: 'invalid_request', description: 'token is missing' })
    const refused = await openid.authorizations.revoke(client, token, clientOf(request))
    return refused ? sendProtocolError(reply, othersToken) : reply.status(200).send()
  })

const userInfoUrl = '/api/auth/userinfo'

const { sendRefusal } = routeRefusals('cross_site')

const authorizationLimiter = fixedLimiter('userinfo')

/** Each refusal needs a statement of the database. The limit is high because programs ask with tokens that have just expired. */
const refusalsLimiter = fixedLimiter('userinfo_refusals')

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

/** Answers with the claims of the user of an access token, as they are now (OpenID Connect Core 5.3). */
export const openidUserinfoRoutes = (
  server: Server,
  { countedRequests }: App,
  protocolDoor: ProtocolDoor,
  validTokens: ValidTokens,
) => {
  protocolDoor.answerPreflights(server, userInfoUrl)

  const answer = async (openid: OpenidRoom, request: FastifyRequest, reply: FastifyReply) => {
    // A page that is none of an application could use up the limits of its visitors.
    if (isSentByPage(request) && !(await protocolDoor.knownClients.mayRead(openid, request)))
      return sendRefusal(reply, refuse('cross_site', { message: 'A page of no application has sent the request' }))
    const sentToken = readToken(request)
    if (sentToken === 'twice')
      return sendProtocolError(
        reply,
        { error: 'invalid_request', description: 'The token was sent in two ways' },
        'bearer',
      )
    const invalid = { error: 'invalid_token', description: 'An access token is needed', status: 401 } as const
    if (sentToken === 'none') return sendProtocolError(reply, invalid, 'bearerWithoutError')
    const { token } = sentToken
    const hash = token === undefined ? undefined : fingerprint(token)
    const wasValid = hash !== undefined && validTokens.has(hash)
    if (!wasValid && (await countedRequests.count(refusalsLimiter, clientNetwork(request), request, reply)))
      return reply
    const shared = hash && (await openid.authorizations.sharedByAccessToken(hash))
    if (!shared) {
      if (hash) validTokens.delete(hash)
      return sendProtocolError(reply, { ...invalid, description: 'The access token is not valid' }, 'bearer')
    }
    if (!wasValid) countedRequests.refundDespiteRefusal(request)
    validTokens.add(hash)
    if (await countedRequests.count(authorizationLimiter, `authorization:${shared.authorizationId}`, request, reply))
      return reply
    if (!shared.content.scopes.includes('openid')) {
      const fault = { error: 'insufficient_scope', description: 'The scope openid is needed', status: 403 } as const
      return sendProtocolError(reply, fault, 'bearer')
    }
    return reply.send(userInfoOf(shared.subject, shared.content))
  }

  const behindDoor = protocolDoor.through(answer)
  for (const method of ['GET', 'POST'] as const)
    route(server, `${method} ${userInfoUrl}`, {
      ...behindDoor,
      onSend: [behindDoor.onSend, countedRequests.refundSuccess],
      config: { countsIn: ['userinfo', 'userinfo_refusals'] },
    })
}
