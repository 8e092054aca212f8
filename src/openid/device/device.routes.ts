import type { FastifyReply, FastifyRequest } from 'fastify'
import { deviceFlowFault } from '../../applications/applications.js'
import { DeviceCodeBody, DeviceDecisionBody, DeviceState, openidScopes } from '../../contract/openid.js'
import { isRefused, refuse } from '../../contract/outcome.js'
import { sendProtocolError } from '../../http/errors.js'
import { fixedLimiter, userSubject } from '../../http/limiters.js'
import { clientNetwork, clientOf } from '../../http/request-origin.js'
import { guardRefusals, routeRefusals } from '../../http/route.js'
import type { Server } from '../../http/server.js'
import { seconds } from '../../lib/durations.js'
import type { App } from '../../service/open-http.js'
import type { TokenHolder } from '../../sessions/sessions.js'
import type { ClientRoutes } from '../client-authentication.js'
import type { ProtocolPages } from '../openid-door.js'
import type { Devices } from './devices.js'
import { deviceRequestLifetime, pollInterval, shownUserCode } from './user-codes.js'

const { responses, sendRefusal } = routeRefusals(
  ...guardRefusals,
  'not_found',
  'unknown_device_code',
  'fresh_sign_in_required',
)

/** The routes are hidden, because they are for our own page and no part of the public API. */
const schemaOf = <Body>(body: Body) => ({ hide: true, body, response: { 200: DeviceState, ...responses } })

const userCodeNetworkLimiter = fixedLimiter('network_user_codes')
const userLimiter = fixedLimiter('user_codes')

/** Counts an attempt to enter the code of a device, before the code is compared. The attempt is given back if the code is right. */
const limitUserCodes = async ({ countedRequests, callers }: App, request: FastifyRequest, reply: FastifyReply) => {
  const attempts = [
    { limiter: userCodeNetworkLimiter, subject: clientNetwork(request) },
    { limiter: userLimiter, subject: userSubject(callers.of(request).userId) },
  ]
  return (await countedRequests.countAll(attempts, request, reply)) ? reply : undefined
}

/** The page on which users let a device in, and its own API. */
export const openidDeviceRoutes = (server: Server, app: App, { protocolPage, plainPage }: ProtocolPages) => {
  const { guards, callers, freshness, countedRequests, openidProvider } = app
  const sendPage = protocolPage('device')
  const sendNotFound = plainPage('not-found')

  const pageOptions = { schema: { hide: true }, config: { unlimited: 'Sent from memory' } }
  server.get('/api/auth/device', pageOptions, async (request, reply) =>
    (await openidProvider.open()) ? sendPage(request, reply) : sendNotFound(request, reply),
  )

  const hooks = {
    onRequest: guards.change,
    preHandler: (request: FastifyRequest, reply: FastifyReply) => limitUserCodes(app, request, reply),
    onSend: countedRequests.refundSuccess,
    config: { ownOriginOnly: true, countsIn: ['user_codes', 'network_user_codes', 'general'] as const },
  }
  /** Calls `work` with the devices and the signed-in user, and sends what it returns. Without one of the two, sends a refusal. */
  const withDevices = async (
    request: FastifyRequest,
    reply: FastifyReply,
    work: (devices: Devices, holder: TokenHolder) => ReturnType<Devices['ask']>,
  ) => {
    const openid = await openidProvider.open()
    if (!openid) return sendRefusal(reply, refuse('not_found'))
    const holder = callers.holderOf(request)
    if (!holder) return sendRefusal(reply, refuse('not_authenticated'))
    const state = await work(openid.devices, holder)
    return isRefused(state) ? sendRefusal(reply, state) : reply.send(state)
  }

  const questionOptions = { ...hooks, schema: schemaOf(DeviceCodeBody) }
  server.post('/api/auth/device/question', questionOptions, async (request, reply) =>
    withDevices(request, reply, (devices, holder) =>
      devices.ask(request.body.code, { holder, origin: clientOf(request) }),
    ),
  )

  const answerOptions = { ...hooks, schema: schemaOf(DeviceDecisionBody) }
  server.post('/api/auth/device/answer', answerOptions, async (request, reply) => {
    const staleRefusal = request.body.answer === 'approve' ? await freshness.refusalFor(request) : undefined
    if (!staleRefusal)
      return withDevices(request, reply, (devices, holder) =>
        devices.answer(request.body, { holder, origin: clientOf(request) }),
      )
    // No code was compared, so the attempt is given back.
    countedRequests.refundDespiteRefusal(request)
    return sendRefusal(reply, staleRefusal)
  })
}

const networkLimiter = fixedLimiter('device_requests')

/** A device without a browser asks for a code that its user can enter elsewhere (RFC 8628, 3.1). */
export const deviceAuthorizationRoutes = (
  server: Server,
  { countedRequests, ceilings, config }: App,
  clientRoutes: ClientRoutes,
) => {
  const verificationUri = `${config.publicUrl}/login#device`
  const countsIn = ['device_requests', 'total_device_requests'] as const
  clientRoutes.add(server, '/api/auth/device', { countsIn }, async (openid, { client, form, request, reply }) => {
    const fault = deviceFlowFault(client)
    if (fault !== undefined) {
      openid.applicationErrors.note(client, 'grant', fault, clientOf(request))
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
    const { deviceCode, userCode } = await openid.deviceRequests.begin(client, scopes, clientOf(request))
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
