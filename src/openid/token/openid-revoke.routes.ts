import { sendProtocolError } from '../../http/errors.js'
import { clientOf } from '../../http/request-origin.js'
import type { Server } from '../../http/server.js'

import type { ClientNouns } from '../client-authentication.js'
import { addClientRoute, type ClientRouteParts } from '../client-routes.js'
import type { Authorizations } from './authorizations.js'

type Dependencies = ClientRouteParts<ClientNouns & { authorizations: Pick<Authorizations, 'revoke'> }>

/** RFC 7009, 2.1. Only who holds the token can ask, and learns that it is not theirs. */
const othersToken = { error: 'invalid_grant', description: 'The token was given to another client' } as const

/** RFC 7009. The answer is 200 also for a token that is unknown (2.2). */
export const openidRevokeRoutes = (server: Server, dependencies: Dependencies) =>
  addClientRoute(server, '/api/auth/revoke', dependencies, async (nouns, { application, form, request, reply }) => {
    const token = form.values.get('token')
    if (token === undefined)
      return sendProtocolError(reply, { error: 'invalid_request', description: 'token is missing' })
    const refused = await nouns.authorizations.revoke(application, token, clientOf(request))
    return refused ? sendProtocolError(reply, othersToken) : reply.status(200).send()
  })
