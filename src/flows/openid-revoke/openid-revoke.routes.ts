import type { Authorizations } from '../../domain/authorizations/authorizations.js'
import type { CountedRequests } from '../../http/limits/counted-requests.js'
import type { ClientAuthentication, ClientNouns } from '../../http/protocol/client-authentication.js'
import { formOf } from '../../http/protocol/forms.js'
import type { ProtocolDoor } from '../../http/protocol/protocol-door.js'
import { sendProtocolError } from '../../http/protocol/protocol-errors.js'
import type { Server } from '../../http/server.js'

const url = '/api/auth/revoke'

type Dependencies = {
  protocolDoor: ProtocolDoor<ClientNouns & { authorizations: Pick<Authorizations, 'revoke'> }>
  clientAuthentication: ClientAuthentication
  countedRequests: Pick<CountedRequests, 'refundSuccess'>
}

/** RFC 7009. A token that is not known, or of another client, is answered like one that was: 200. */
export const openidRevokeRoutes = (server: Server, dependencies: Dependencies) => {
  const { protocolDoor, clientAuthentication, countedRequests } = dependencies
  protocolDoor.answerPreflights(server, url)

  server.route({
    method: 'POST',
    url,
    schema: { hide: true },
    config: { countsIn: ['login', 'application'] },
    onSend: countedRequests.refundSuccess,
    handler: protocolDoor.through(async (nouns, request, reply) => {
      const form = formOf(request)
      const application = await clientAuthentication.authenticate(form, nouns, request, reply)
      if (!application) return reply
      const token = form.values.get('token')
      if (token === undefined)
        return sendProtocolError(reply, { error: 'invalid_request', description: 'token is missing' })
      await nouns.authorizations.revoke(application, token)
      return reply.status(200).send()
    }),
  })
}
