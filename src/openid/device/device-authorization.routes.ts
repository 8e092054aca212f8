import { deviceFlowFault } from '../../applications/applications.js'
import { openidScopes } from '../../contract/openid.js'
import { sendProtocolError } from '../../http/errors.js'
import { type Limiter, limiters } from '../../http/limiters.js'
import type { CountedRequests } from '../../http/limits.js'
import { clientNetwork, clientOf } from '../../http/request-origin.js'
import type { Server } from '../../http/server.js'

import { seconds } from '../../lib/durations.js'
import type { Ceilings } from '../../sign-in/ceilings.js'
import type { ClientNouns } from '../client-authentication.js'
import { addClientRoute, type ClientRouteParts } from '../client-routes.js'
import type { DeviceRequests } from './device-requests.js'
import { deviceRequestLifetime, pollInterval } from './device-times.js'
import { shownUserCode } from './user-codes.js'

const networkLimiter: Limiter = {
  name: 'device_requests',
  limit: limiters.device_requests.limit,
  code: 'too_many_requests',
}

type Dependencies = ClientRouteParts<ClientNouns & { deviceRequests: Pick<DeviceRequests, 'begin'> }> & {
  countedRequests: Pick<CountedRequests, 'count'>
  ceilings: Pick<Ceilings, 'findExcess' | 'answerExcess'>
  publicUrl: string
}

/** A device without a browser asks for a code that its user can enter elsewhere (RFC 8628, 3.1). */
export const deviceAuthorizationRoutes = (server: Server, dependencies: Dependencies) => {
  const { countedRequests, ceilings, publicUrl } = dependencies
  const verificationUri = `${publicUrl}/login#device`
  const parts: typeof dependencies = { ...dependencies, countsIn: ['device_requests', 'total_device_requests'] }
  addClientRoute(server, '/api/auth/device', parts, async (nouns, { application, form, request, reply }) => {
    const fault = deviceFlowFault(application)
    if (fault !== undefined) {
      nouns.applicationErrors.note(application, 'grant', fault, clientOf(request))
      return sendProtocolError(reply, { error: 'unauthorized_client', description: fault })
    }
    // A device that asks for no scope gets the smallest one (RFC 6749, 3.3).
    const askedScopes = (form.values.get('scope') ?? 'openid').split(' ')
    const scopes = openidScopes.filter((scope) => askedScopes.includes(scope))
    if (!scopes.includes('openid'))
      return sendProtocolError(reply, { error: 'invalid_scope', description: 'scope must contain openid' })
    if (await countedRequests.count(networkLimiter, clientNetwork(request), request, reply)) return reply
    const excess = await ceilings.findExcess('total_device_requests', request)
    if (excess) return ceilings.answerExcess(reply, 'total_device_requests', excess)
    const { deviceCode, userCode } = await nouns.deviceRequests.begin(application, scopes, clientOf(request))
    const userCodeText = shownUserCode(userCode)
    return reply.send({
      device_code: deviceCode,
      user_code: userCodeText,
      verification_uri: verificationUri,
      verification_uri_complete: `${verificationUri}=${userCodeText}`,
      expires_in: deviceRequestLifetime / seconds,
      interval: pollInterval,
    })
  })
}
