import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ApplicationErrors } from '../../applications/application-errors.js'
import {
  type Application,
  type Applications,
  deviceFlowFault,
  publicApplication,
} from '../../applications/applications.js'
import { describeDevice } from '../../contract/device-names.js'
import {
  DeviceCodeBody,
  DeviceDecisionBody,
  DeviceState,
  type DeviceStep,
  openidScopes,
} from '../../contract/openid.js'
import { isRefused, refuse } from '../../contract/outcome.js'
import type { Freshness } from '../../factors/freshness.js'
import { sendProtocolError } from '../../http/errors.js'
import { fixedLimiter, userSubject } from '../../http/limiters.js'
import type { CountedRequests } from '../../http/limits.js'
import { type Client, clientNetwork, clientOf } from '../../http/request-origin.js'
import { guardRefusals, routeRefusals } from '../../http/route.js'
import type { Server } from '../../http/server.js'
import { seconds } from '../../lib/durations.js'
import { customerNetworkOf } from '../../lib/networks.js'
import type { pagesRoutes } from '../../pages/pages.routes.js'
import type { App } from '../../service/open-http.js'

import type { Callers } from '../../sessions/callers.js'
import type { Guards } from '../../sessions/guards.js'
import type { EndStolen } from '../../sessions/rotation.js'
import type { TokenHolder } from '../../sessions/sessions.js'
import type { Ceilings } from '../../sign-in/ceilings.js'
import { createSignedInUsers, type SignedInUsers } from '../authorize/authorize.js'
import { nextQuestion, type RequestDemands, type SignedInUser, sufficientMethods } from '../authorize/next-question.js'
import { addClientRoute, type ClientNouns, type ClientRouteParts } from '../client-authentication.js'
import type { DeviceRequest, DeviceRequests } from './device-requests.js'
import type { DeviceAuthorizations } from './devices.js'
import { deviceRequestLifetime, pollInterval, readUserCode, shownUserCode } from './user-codes.js'

type DeviceApprovalDependencies = {
  applications: Applications
  applicationErrors: ApplicationErrors
  deviceRequests: DeviceRequests
  deviceAuthorizations: DeviceAuthorizations
  signedInUsers: SignedInUsers
  endStolen: EndStolen
  /** Whether every session needs a second factor. */
  secondFactorRequired: boolean
}

/** A signed-in user who has entered the code of a device, or has followed its link. */
type Approver = { holder: TokenHolder; client: Client }

type WaitingDevice = { userCode: string; request: DeviceRequest; application: Application; user: SignedInUser }

/**
 * The step of the page for each question that the application would ask in a browser. Native applications always ask whether to
 * continue.
 */
const steps: Readonly<Record<ReturnType<typeof nextQuestion>, DeviceStep>> = {
  sign_in: 'sign_in',
  choose: 'sign_in',
  start_again: 'sign_in',
  no_access: 'no_access',
  enrol: 'enrol',
  prove: 'prove',
  consent: 'approve',
  done: 'approve',
}

/** The step that is open, and what the page shows of it. */
const createStateOf = (secondFactorRequired: boolean) => {
  /** The device gets a session of its own, so an account with a second factor must prove that factor: a trusted browser is not enough. */
  const demandsOf = ({ createdAt, scopes }: DeviceRequest): RequestDemands => ({
    createdAt,
    scopes,
    maxAge: undefined,
    prompts: [],
    acr: secondFactorRequired ? '2' : undefined,
    prefersTwoFactors: true,
    user: undefined,
    assignedUserId: undefined,
    claims: undefined,
  })

  return (
    { userCode, request, application, user }: WaitingDevice,
    { client }: Approver,
    answered: 'approved' | 'denied' | undefined = request.isApproved ? 'approved' : undefined,
  ): DeviceState => {
    const applicationRequest = { application, request: demandsOf(request) }
    const next = answered ?? steps[nextQuestion(applicationRequest, user)]
    const { ip, userAgent } = request.client
    return {
      next,
      code: shownUserCode(userCode),
      application: publicApplication(application),
      user: { id: user.id, username: user.username },
      scopes: request.scopes,
      ...(next === 'prove' && { methods: [...sufficientMethods({ ...applicationRequest, user })] }),
      from: {
        ip,
        userAgent,
        ...describeDevice(userAgent),
        askedAt: request.createdAt.toISOString(),
        sameNetwork: customerNetworkOf(ip) === customerNetworkOf(client.ip),
      },
    }
  }
}

/** A user approves or denies a device that waits. */
const createDeviceApproval = (deps: DeviceApprovalDependencies) => {
  const { applications, applicationErrors, deviceRequests, deviceAuthorizations, signedInUsers, endStolen } = deps
  const stateOf = createStateOf(deps.secondFactorRequired)
  const refuseUnknownCode = () => refuse('unknown_device_code')

  const find = async (text: string, { holder }: Approver) => {
    const userCode = readUserCode(text)
    const request = userCode === undefined ? undefined : await deviceRequests.find(userCode, holder.userId)
    const application = request && (await applications.find(request.applicationId))
    if (userCode === undefined || !application || !application.deviceFlow) return refuseUnknownCode()
    const user = await signedInUsers.find(holder, application.id)
    return user ? { userCode, request, application, user } : refuse('not_authenticated')
  }

  const deny = async (waiting: WaitingDevice, approver: Approver) => {
    const { userId, sessionId } = approver.holder
    if (!(await deviceRequests.deny(waiting.userCode, { userId, sessionId }))) return refuseUnknownCode()
    applicationErrors.note(waiting.application, 'normal_end', 'access_denied: The user has declined a device')
    return stateOf(waiting, approver, 'denied')
  }

  const approve = async (waiting: WaitingDevice, approver: Approver) => {
    const { holder, client } = approver
    const approved = await deviceAuthorizations.approve(holder, waiting)
    if (!isRefused(approved)) return stateOf(waiting, approver, 'approved')
    // The refresh token was stolen, so the session ends: copied cookies must not become the tokens of a device unnoticed.
    if (approved.refused === 'theft') await endStolen(holder.refreshToken, client)
    if (approved.refused === 'over') return refuseUnknownCode()
    return approved.refused === 'no_access' ? stateOf(waiting, approver) : refuse('not_authenticated')
  }

  return {
    ask: async (code: string, approver: Approver) => {
      const waiting = await find(code, approver)
      return isRefused(waiting) ? waiting : stateOf(waiting, approver)
    },

    /** An answer counts only for the user whom the page has shown, and an approval only if no other step is open. */
    answer: async ({ code, user: shownUserId, answer }: DeviceDecisionBody, approver: Approver) => {
      const waiting = await find(code, approver)
      if (isRefused(waiting)) return waiting
      const state = stateOf(waiting, approver)
      if (waiting.user.id !== shownUserId) return state
      if (answer === 'deny') return deny(waiting, approver)
      return state.next === 'approve' ? approve(waiting, approver) : state
    },
  }
}

const { responses, sendRefusal } = routeRefusals(
  ...guardRefusals,
  'not_found',
  'unknown_device_code',
  'fresh_sign_in_required',
)

/** The routes are hidden, because they are for our own page and no part of the public API. */
const schemaOf = <Body>(body: Body) => ({ hide: true, body, response: { 200: DeviceState, ...responses } })

type DeviceApproval = ReturnType<typeof createDeviceApproval>

type OpenidDeviceRouteDependencies = {
  guards: Guards
  callers: Callers
  freshness: Freshness
  userCodeLimit: UserCodeLimit
  countedRequests: CountedRequests
  /** Returns undefined while there is no application. */
  openDeviceApproval: () => Promise<DeviceApproval | undefined>
  sendPage: (request: FastifyRequest, reply: FastifyReply) => FastifyReply
  sendNotFound: (request: FastifyRequest, reply: FastifyReply) => FastifyReply
}

/** The page on which users let a device in, and its own API. */
const openidDeviceRoutes = (server: Server, deps: OpenidDeviceRouteDependencies) => {
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

const networkLimiter = fixedLimiter('device_requests')

type DeviceAuthorizationRouteDependencies = ClientRouteParts<ClientNouns & { deviceRequests: DeviceRequests }> & {
  countedRequests: CountedRequests
  ceilings: Ceilings
  publicUrl: string
}

/** A device without a browser asks for a code that its user can enter elsewhere (RFC 8628, 3.1). */
export const deviceAuthorizationRoutes = (server: Server, dependencies: DeviceAuthorizationRouteDependencies) => {
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

const userCodeNetworkLimiter = fixedLimiter('network_user_codes')
const userLimiter = fixedLimiter('user_codes')

type UserCodeLimitDependencies = { countedRequests: CountedRequests; callers: Callers }

type UserCodeLimit = ReturnType<typeof createUserCodeLimit>

/** Counts an attempt to enter the code of a device, before the code is compared. The attempt is given back if the code is right. */
export const createUserCodeLimit =
  ({ countedRequests, callers }: UserCodeLimitDependencies) =>
  async (request: FastifyRequest, reply: FastifyReply) => {
    const attempts = [
      { limiter: userCodeNetworkLimiter, subject: clientNetwork(request) },
      { limiter: userLimiter, subject: userSubject(callers.of(request).userId) },
    ]
    return (await countedRequests.countAll(attempts, request, reply)) ? reply : undefined
  }

type Pages = ReturnType<typeof pagesRoutes>

/** Registers the page on which users approve a device that has no browser. */
export const registerDevicePage = (server: Server, app: App, pages: Pages) =>
  openidDeviceRoutes(server, {
    ...app,
    openDeviceApproval: async () => {
      const openid = await app.openidProvider.open()
      const parts = openid && { ...app, ...openid }
      return parts && createDeviceApproval({ ...parts, signedInUsers: createSignedInUsers(parts) })
    },
    sendPage: pages.protocolPage('device'),
    sendNotFound: pages.plainPage('not-found'),
  })
