import type { FastifyReply, FastifyRequest } from 'fastify'
import { deviceFlowFault } from '../../applications/applications.js'
import { DeviceCodeBody, DeviceDecisionBody, DeviceState, openidScopes } from '../../contract/openid.js'
import { refuse } from '../../contract/outcome.js'
import { sendProtocolError } from '../../http/errors.js'
import { fixedLimiter, userSubject } from '../../http/limiters.js'
import { clientNetwork, clientOf } from '../../http/request-origin.js'
import { guardRefusals, route } from '../../http/route.js'
import type { Server } from '../../http/server.js'
import { seconds } from '../../lib/durations.js'
import type { App } from '../../service/open-http.js'
import type { TokenHolder } from '../../sessions/sessions.js'
import type { ClientRoutes } from '../client-authentication.js'
import type { ProtocolPages } from '../openid-door.js'
import { noResourceForDevices } from '../token/grant-table.js'
import type { Devices } from './devices.js'
import { deviceRequestLifetime, pollInterval, shownUserCode } from './user-codes.js'

const userCodeNetworkLimiter = fixedLimiter('network_user_codes')
const userLimiter = fixedLimiter('user_codes')

/** Counts an attempt to enter the code of a device, before the code is compared. The attempt is given back if the code is right. */
const countUserCode = async ({ countedRequests, callers }: App, request: FastifyRequest, reply: FastifyReply) => {
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

  route(server, 'GET /api/auth/device', {
    hidden: true,
    guard: [],
    refuses: [],
    answers: {},
    config: { unlimited: 'Sent from memory' },
    handle: async ({ request, reply }) =>
      (await openidProvider.open()) ? sendPage(request, reply) : sendNotFound(request, reply),
  })

  // These routes are hidden, because they are for our own page and no part of the public API.
  const ofPage = {
    hidden: true,
    guard: guards.change,
    refuses: [...guardRefusals, 'not_found', 'unknown_device_code', 'fresh_sign_in_required'],
    answers: { 200: DeviceState },
    preHandler: (request: FastifyRequest, reply: FastifyReply) => countUserCode(app, request, reply),
    onSend: countedRequests.refundSuccess,
    config: { ownOriginOnly: true, countsIn: ['user_codes', 'network_user_codes', 'general'] },
  } as const
  /** Calls `work` with the devices and the signed-in user. Without one of the two, returns a refusal. */
  const withDevices = async (
    request: FastifyRequest,
    work: (devices: Devices, holder: TokenHolder) => ReturnType<Devices['ask']>,
  ) => {
    const openid = await openidProvider.open()
    if (!openid) return refuse('not_found')
    const holder = callers.holderOf(request)
    return holder ? work(openid.devices, holder) : refuse('not_authenticated')
  }

  route(server, 'POST /api/auth/device/question', {
    ...ofPage,
    body: DeviceCodeBody,
    handle: async ({ body, request }) =>
      withDevices(request, (devices, holder) => devices.ask(body.code, { holder, origin: clientOf(request) })),
  })

  route(server, 'POST /api/auth/device/answer', {
    ...ofPage,
    body: DeviceDecisionBody,
    handle: async ({ body, request }) => {
      const staleRefusal = body.answer === 'approve' ? await freshness.refusalFor(request) : undefined
      if (!staleRefusal)
        return withDevices(request, (devices, holder) => devices.answer(body, { holder, origin: clientOf(request) }))
      // No code was compared, so the attempt is given back.
      countedRequests.refundDespiteRefusal(request)
      return staleRefusal
    },
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
    if (form.values.has('resource')) return sendProtocolError(reply, noResourceForDevices)
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
