import { isRefused } from '../../contract/outcome.js'
import { sendProtocolError } from '../../http/errors.js'
import type { Form } from '../../http/forms.js'
import { clientOf } from '../../http/request-origin.js'
import type { Server } from '../../http/server.js'

import type { Metrics } from '../../platform/metrics/metrics.js'
import type { ClientNouns } from '../client-authentication.js'
import { addClientRoute, type ClientRouteParts } from '../client-routes.js'
import { grantTokens, isGrantType, type TokenNouns } from './openid-token.js'

type Dependencies = ClientRouteParts<TokenNouns & ClientNouns> & {
  metrics: Pick<Metrics, 'countTokens'> | undefined
}

/** The outcome that the metrics count for a client that was refused before its grant, by the status of the answer. */
const clientRefusals: Readonly<Record<number, string>> = { 401: 'invalid_client', 429: 'rate_limited' }

/** Exchanges codes and refresh tokens for tokens (RFC 6749, 3.2). */
export const openidTokenRoutes = (server: Server, dependencies: Dependencies) => {
  const count = (form: Form, outcome: string) => {
    const type = form.values.get('grant_type')
    dependencies.metrics?.countTokens(isGrantType(type) ? type : 'other', outcome)
  }
  const parts: typeof dependencies = {
    ...dependencies,
    onClientRefused: (form, status) => count(form, clientRefusals[status] ?? 'refused'),
  }
  addClientRoute(server, '/api/auth/token', parts, async (nouns, { application, form, request, reply }) => {
    const granted = await grantTokens({ application, form, client: clientOf(request) }, nouns)
    count(form, isRefused(granted) ? granted.outcome : 'issued')
    // RFC 6749, 5.1.
    reply.header('pragma', 'no-cache')
    return isRefused(granted) ? sendProtocolError(reply, granted.fault) : reply.send(granted)
  })
}
