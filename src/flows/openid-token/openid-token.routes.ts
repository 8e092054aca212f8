import { isRefused } from '../../contract/outcome.js'
import { clientOf } from '../../http/client.js'
import type { CountedRequests } from '../../http/limits/counted-requests.js'
import type { ClientAuthentication, ClientNouns } from '../../http/protocol/client-authentication.js'
import { formOf } from '../../http/protocol/forms.js'
import type { ProtocolDoor } from '../../http/protocol/protocol-door.js'
import { sendProtocolError } from '../../http/protocol/protocol-errors.js'
import type { Server } from '../../http/server.js'
import type { Metrics } from '../../platform/metrics/metrics.js'
import { grantTokens, isGrantType, type TokenNouns } from './openid-token.js'

const url = '/api/auth/token'

type Dependencies = {
  protocolDoor: ProtocolDoor<TokenNouns & ClientNouns>
  clientAuthentication: ClientAuthentication
  countedRequests: Pick<CountedRequests, 'refundSuccess'>
  metrics: Pick<Metrics, 'countTokens'> | undefined
}

/** Codes and refresh tokens for tokens (RFC 6749, 3.2). */
export const openidTokenRoutes = (server: Server, dependencies: Dependencies) => {
  const { protocolDoor, clientAuthentication, countedRequests, metrics } = dependencies
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
      const granted = await grantTokens({ application, form, client: clientOf(request) }, nouns)
      const type = form.values.get('grant_type')
      metrics?.countTokens(isGrantType(type) ? type : 'other', isRefused(granted) ? granted.outcome : 'issued')
      // RFC 6749, 5.1.
      reply.header('pragma', 'no-cache')
      return isRefused(granted) ? sendProtocolError(reply, granted.fault) : reply.send(granted)
    }),
  })
}
