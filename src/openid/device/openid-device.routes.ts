import type { FastifyReply, FastifyRequest } from 'fastify'
import { DeviceCodeBody, DeviceDecisionBody, DeviceState } from '../../contract/openid.js'
import { isRefused, refuse } from '../../contract/outcome.js'
import type { Freshness } from '../../factors/freshness.js'
import type { CountedRequests } from '../../http/limits.js'
import { clientOf } from '../../http/request-origin.js'
import { guardRefusals, routeRefusals } from '../../http/route.js'
import type { Server } from '../../http/server.js'

import type { Callers } from '../../sessions/callers.js'
import type { Guards } from '../../sessions/guards.js'

import type { Approver, createDeviceApproval } from './openid-device.js'
import type { UserCodeLimit } from './user-code-limit.js'

const { responses, sendRefusal } = routeRefusals(
  ...guardRefusals,
  'not_found',
  'unknown_device_code',
  'fresh_sign_in_required',
)

/** The routes are hidden, because they are for our own page and no part of the public API. */
const schemaOf = <Body>(body: Body) => ({ hide: true, body, response: { 200: DeviceState, ...responses } })

type DeviceApproval = ReturnType<typeof createDeviceApproval>

type Dependencies = {
  guards: Guards
  callers: Callers
  freshness: Freshness
  userCodeLimit: UserCodeLimit
  countedRequests: Pick<CountedRequests, 'refundSuccess' | 'refundDespiteRefusal'>
  /** Returns undefined while there is no application. */
  openDeviceApproval: () => Promise<DeviceApproval | undefined>
  sendPage: (request: FastifyRequest, reply: FastifyReply) => FastifyReply
  sendNotFound: (request: FastifyRequest, reply: FastifyReply) => FastifyReply
}

/** The page on which users let a device in, and its own API. */
export const openidDeviceRoutes = (server: Server, deps: Dependencies) => {
  const { guards, callers, freshness, countedRequests, openDeviceApproval, sendPage, sendNotFound } = deps

  const pageOptions = { schema: { hide: true }, config: { unlimited: 'Sent from memory' } }
  server.get('/api/auth/device', pageOptions, async (request, reply) =>
    (await openDeviceApproval()) ? sendPage(request, reply) : sendNotFound(request, reply),
  )

  const hooks = {
    onRequest: guards.change,
    preHandler: deps.userCodeLimit,
    onSend: countedRequests.refundSuccess,
    config: { ownOriginOnly: true, countsIn: ['user_codes', 'network_user_codes', 'general'] as const },
  }
  /** Calls `work` with the approval and the signed-in user, and sends what it returns. Without one of the two, sends a refusal. */
  const withApproval = async (
    request: FastifyRequest,
    reply: FastifyReply,
    work: (approval: DeviceApproval, approver: Approver) => ReturnType<DeviceApproval['ask']>,
  ) => {
    const approval = await openDeviceApproval()
    if (!approval) return sendRefusal(reply, refuse('not_found'))
    const holder = callers.holderOf(request)
    if (!holder) return sendRefusal(reply, refuse('not_authenticated'))
    const state = await work(approval, { holder, client: clientOf(request) })
    return isRefused(state) ? sendRefusal(reply, state) : reply.send(state)
  }

  const questionOptions = { ...hooks, schema: schemaOf(DeviceCodeBody) }
  server.post('/api/auth/device/question', questionOptions, async (request, reply) =>
    withApproval(request, reply, (approval, approver) => approval.ask(request.body.code, approver)),
  )

  const answerOptions = { ...hooks, schema: schemaOf(DeviceDecisionBody) }
  server.post('/api/auth/device/answer', answerOptions, async (request, reply) => {
    const staleRefusal = request.body.answer === 'approve' ? await freshness.refusalFor(request) : undefined
    if (!staleRefusal)
      return withApproval(request, reply, (approval, approver) => approval.answer(request.body, approver))
    // No code was compared, so the attempt is given back.
    countedRequests.refundDespiteRefusal(request)
    return sendRefusal(reply, staleRefusal)
  })
}
