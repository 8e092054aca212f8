import type { ApplicationErrors } from '../../applications/application-errors.js'
import { type Application, publicApplication } from '../../applications/applications.js'
import { describeDevice } from '../../contract/device-names.js'
import { countFactors } from '../../contract/factors.js'
import type { DeviceDecisionBody, DeviceState, DeviceStep } from '../../contract/openid.js'
import { isRefused, type Refused, refuse } from '../../contract/outcome.js'
import type { RequestOrigin } from '../../http/request-origin.js'
import { customerNetworkOf } from '../../lib/networks.js'
import { fingerprint, randomToken } from '../../lib/random.js'
import { uuidv7 } from '../../lib/uuid.js'
import { epochSeconds, fromEpochSeconds } from '../../sessions/issue-tokens.js'
import { proofOf } from '../../sessions/session-facts.js'
import type { SessionProof } from '../../sessions/session-lookups.js'
import type { TokenHolder } from '../../sessions/sessions.js'
import { findSignedInUser, type UserServices } from '../authorize/authorize.js'
import { nextQuestion, type RequestDemands, type SignedInUser, sufficientMethods } from '../authorize/next-question.js'
import { commitForHolder, holdForApplication, type TokenExchange } from '../token/authorizations.js'
import { authTimeOf, type RedeemedTokens } from '../token/codes.js'
import { type DeviceFault, type Grant, grantFrom } from '../token/grants.js'
import { issueInOwnSession } from '../token/own-sessions.js'
import * as store from '../token/tokens.store.js'
import type { Approval, DeviceRequest, DeviceRequests } from './device-requests.js'
import { readUserCode, shownUserCode } from './user-codes.js'

/** What letting a device in needs, besides what all exchanges of tokens do. */
export type DeviceServices = TokenExchange &
  UserServices & {
    deviceRequests: DeviceRequests
    applicationErrors: ApplicationErrors
    /** Whether every session needs a second factor now. */
    secondFactorRequired: () => boolean
  }

type DeviceRedemption<Signed> = {
  client: Application
  deviceCode: string
  origin: RequestOrigin
  /** Signs the ID token before the approval is used up. If signing fails, the approval is still good. */
  sign: (grant: Grant) => Promise<Signed>
}

/**
 * The grant of an approval, as it will be if nothing changes before the transaction. Undefined if the user is disabled, or the session of
 * the approval has ended.
 */
const prepareGrant = async (
  { database, clock, moments, profileFields }: DeviceServices,
  { userId, sid, scopes }: Approval,
): Promise<Grant | undefined> => {
  const [row] = await store.selectApprover(database, { userId, sid }, moments().live)
  if (!row) return undefined
  const now = clock.now()
  const { begun_at: begunAt, methods } = row
  const proof: SessionProof = { ...proofOf(row), begunAt }
  const token_content = {
    scopes: [...scopes],
    ...authTimeOf(proof, now),
    methods,
    secondFactor: countFactors(methods) === 2,
  }
  const ids = { authorization_id: uuidv7(now), sid: uuidv7(now) }
  const holder = { ...row, ...ids, is_device: true, resource: null, oldest_generation: 0, token_content }
  return grantFrom(profileFields, holder, randomToken())
}

const pollApproval = async <Signed>(
  { deviceRequests, usedApplications }: DeviceServices,
  { client, deviceCode, origin }: DeviceRedemption<Signed>,
) => {
  const approval = await deviceRequests.poll(client, deviceCode)
  if (isRefused(approval) && approval.refused === 'reused_device' && approval.deviceSid !== undefined)
    await usedApplications.endReusedDevice(approval.deviceSid, origin)
  return approval
}

const redeem = async <Signed>(
  services: DeviceServices,
  redemption: DeviceRedemption<Signed>,
): Promise<RedeemedTokens<Signed> | Refused<DeviceFault>> => {
  const { clock, refreshTokens } = services
  const approval = await pollApproval(services, redemption)
  if (isRefused(approval)) return refuse(approval.refused)
  const grant = await prepareGrant(services, approval)
  if (!grant) return refuse('ended')
  const signed = await redemption.sign(grant)
  const now = clock.now()
  const claims = { tid: uuidv7(now), gen: 0, iat: epochSeconds(now) }
  const refreshToken = refreshTokens.sign(claims)
  const refreshHash = fingerprint(refreshToken)
  const { client, origin } = redemption
  const outcome = await issueInOwnSession(services, {
    client,
    origin,
    approvingSid: approval.sid,
    grant,
    codeHash: null,
    refreshHash,
    tokensId: claims.tid,
    issuedAt: fromEpochSeconds(claims.iat),
    take: (sql) => services.deviceRequests.take(sql, approval, grant.sid),
  })
  if (!isRefused(outcome)) return { grant, refreshToken, signed }
  if (outcome.refused === 'ended') return refuse('ended')
  const approvalNow = await pollApproval(services, redemption)
  return refuse(isRefused(approvalNow) ? approvalNow.refused : 'ended')
}

/** The user lets a device sign in. As for a code, the refresh token must be one that a refresh would accept. */
const approveInside = (services: DeviceServices, { holder, origin }: Approver, { userCode, request }: WaitingDevice) =>
  commitForHolder(services, holder, origin, async (sql) => {
    const { deviceRequests, consents } = services
    const { clientId, scopes } = request
    const { userId, sessionId } = holder
    const proof = await holdForApplication(services, sql, holder, clientId)
    if (isRefused(proof)) return proof
    if (!(await deviceRequests.approve(sql, userCode, { userId, sessionId }))) return refuse('over')
    sql.unawaited(consents.give(sql, userId, clientId, scopes))
    return { approved: true }
  })

/** A signed-in user who has entered the code of a device, or has followed its link. */
type Approver = { holder: TokenHolder; origin: RequestOrigin }

type WaitingDevice = { userCode: string; request: DeviceRequest; client: Application; user: SignedInUser }

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

/** The device gets a session of its own, so an account with a second factor must prove that factor: a trusted browser is not enough. */
const demandsOf = ({ createdAt, scopes }: DeviceRequest, secondFactorRequired: boolean): RequestDemands => ({
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

/** The step that is open, and what the page shows of it. */
const stateOf = (
  { secondFactorRequired }: DeviceServices,
  { userCode, request, client, user }: WaitingDevice,
  { origin }: Approver,
  answered: 'approved' | 'denied' | undefined = request.isApproved ? 'approved' : undefined,
): DeviceState => {
  const demanded = { client, request: demandsOf(request, secondFactorRequired()) }
  const next = answered ?? steps[nextQuestion(demanded, user)]
  const { ip, userAgent } = request.origin
  return {
    next,
    code: shownUserCode(userCode),
    application: publicApplication(client),
    user: { id: user.id, username: user.username },
    scopes: request.scopes,
    ...(next === 'prove' && { methods: [...sufficientMethods({ ...demanded, user })] }),
    from: {
      ip,
      userAgent,
      ...describeDevice(userAgent),
      askedAt: request.createdAt.toISOString(),
      sameNetwork: customerNetworkOf(ip) === customerNetworkOf(origin.ip),
    },
  }
}

const refuseUnknownCode = () => refuse('unknown_device_code')

const findWaiting = async (services: DeviceServices, text: string, { holder }: Approver) => {
  const { applications, deviceRequests } = services
  const userCode = readUserCode(text)
  const request = userCode === undefined ? undefined : await deviceRequests.find(userCode, holder.userId)
  const client = request && (await applications.find(request.clientId))
  if (userCode === undefined || !client || !client.deviceFlow) return refuseUnknownCode()
  const user = await findSignedInUser(services, holder, client.id)
  return user ? { userCode, request, client, user } : refuse('not_authenticated')
}

const deny = async (services: DeviceServices, waiting: WaitingDevice, approver: Approver) => {
  const { userId, sessionId } = approver.holder
  if (!(await services.deviceRequests.deny(waiting.userCode, { userId, sessionId }))) return refuseUnknownCode()
  services.applicationErrors.note(waiting.client, 'normal_end', 'access_denied: The user has declined a device')
  return stateOf(services, waiting, approver, 'denied')
}

const approve = async (services: DeviceServices, waiting: WaitingDevice, approver: Approver) => {
  const approved = await approveInside(services, approver, waiting)
  if (!isRefused(approved)) return stateOf(services, waiting, approver, 'approved')
  if (approved.refused === 'over') return refuseUnknownCode()
  return approved.refused === 'no_access' ? stateOf(services, waiting, approver) : refuse('not_authenticated')
}

export type Devices = ReturnType<typeof createDevices>

/** Applications on devices without a browser (RFC 8628): a user lets one in, and it gets its tokens. */
export const createDevices = (services: DeviceServices) => ({
  /** What the page asks the user. */
  ask: async (code: string, approver: Approver) => {
    const waiting = await findWaiting(services, code, approver)
    return isRefused(waiting) ? waiting : stateOf(services, waiting, approver)
  },

  /** An answer counts only for the user whom the page has shown, and an approval only if no other step is open. */
  answer: async ({ code, user: shownUserId, answer }: DeviceDecisionBody, approver: Approver) => {
    const waiting = await findWaiting(services, code, approver)
    if (isRefused(waiting)) return waiting
    const state = stateOf(services, waiting, approver)
    if (waiting.user.id !== shownUserId) return state
    if (answer === 'deny') return deny(services, waiting, approver)
    return state.next === 'approve' ? approve(services, waiting, approver) : state
  },

  /** Exchanges the code of a device for tokens, once, after its user has approved it. */
  redeem: <Signed>(redemption: DeviceRedemption<Signed>) => redeem(services, redemption),
})
