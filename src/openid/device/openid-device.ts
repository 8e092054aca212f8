import type { ApplicationErrors } from '../../applications/application-errors.js'
import { type Application, type Applications, publicApplication } from '../../applications/applications.js'

import { describeDevice } from '../../contract/device-names.js'
import type { DeviceDecisionBody, DeviceState, DeviceStep } from '../../contract/openid.js'

import { isRefused, refuse } from '../../contract/outcome.js'
import type { Client } from '../../http/request-origin.js'
import { customerNetworkOf } from '../../lib/networks.js'
import type { EndStolen } from '../../sessions/rotation.js'
import type { TokenHolder } from '../../sessions/sessions.js'

import { nextQuestion, type RequestDemands, type SignedInUser, sufficientMethods } from '../authorize/next-question.js'
import type { SignedInUsers } from '../authorize/signed-in-users.js'
import type { DeviceAuthorizations } from './device-authorizations.js'
import type { DeviceRequest, DeviceRequests } from './device-requests.js'
import { readUserCode, shownUserCode } from './user-codes.js'

type Dependencies = {
  applications: Pick<Applications, 'find'>
  applicationErrors: Pick<ApplicationErrors, 'note'>
  deviceRequests: Pick<DeviceRequests, 'find' | 'deny'>
  deviceAuthorizations: Pick<DeviceAuthorizations, 'approve'>
  signedInUsers: SignedInUsers
  endStolen: EndStolen
  /** Whether every session needs a second factor. */
  secondFactorRequired: boolean
}

/** A signed-in user who has entered the code of a device, or has followed its link. */
export type Approver = { holder: TokenHolder; client: Client }

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
export const createDeviceApproval = (deps: Dependencies) => {
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
