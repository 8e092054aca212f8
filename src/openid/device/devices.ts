import { type Application, mayUse } from '../../applications/applications.js'
import * as authorizationsStore from '../../applications/authorizations.store.js'
import type { Consents } from '../../applications/used-applications.js'
import { countFactors } from '../../contract/factors.js'
import { isRefused, type Refused, refuse } from '../../contract/outcome.js'
import type { Client } from '../../http/request-origin.js'
import type { Clock } from '../../lib/clock.js'
import { hours } from '../../lib/durations.js'
import { fingerprint, randomToken } from '../../lib/random.js'
import { uuidv7 } from '../../lib/uuid.js'
import type { Events } from '../../messages/events.js'
import { commitUnlessRefused, type Database } from '../../platform/database/database.js'
import { epochSeconds, fromEpochSeconds } from '../../sessions/issue-tokens.js'
import type { SessionLimits } from '../../sessions/live-sessions.js'
import { proofOf } from '../../sessions/session-facts.js'
import type { SessionLookups, SessionProof } from '../../sessions/session-lookups.js'
import type { Sessions, TokenHolder } from '../../sessions/sessions.js'
import type { DeviceSessions } from '../../sign-in/new-sessions.js'
import type { Users } from '../../users/users.js'
import type { TokenExchangeParts } from '../token/authorizations.js'
import { authTimeOf, type RedeemedTokens } from '../token/codes.js'
import { accessTokenLifetime, type Grant } from '../token/grants.js'
import * as tokenStore from '../token/tokens.store.js'
import * as tokensStore from '../token/tokens.store.js'
import type { Approval, DeviceFault, DeviceRequest, DeviceRequests } from './device-requests.js'

export type RedeemDeviceParts = {
  exchange: TokenExchangeParts
  deviceRequests: DeviceRequests
  deviceSessions: DeviceSessions
  users: Users
  sessionLookups: SessionLookups
  events: Events
}

type DeviceRedemption<Signed> = {
  application: Application
  deviceCode: string
  client: Client
  /** Signs the ID token before the approval is used up. If signing fails, the approval is still good. */
  sign: (grant: Grant) => Promise<Signed>
}

/** The ids, tokens and times that are written together when an approval is used. */
type NewDeviceTokens = { approval: Approval; grant: Grant; refreshHash: Uint8Array; tokensId: string; issuedAt: Date }

/**
 * The grant of an approval, as it will be if nothing changes before the transaction. Undefined if the user is disabled, or the session of
 * the approval has ended.
 */
const createPrepareGrant =
  ({ database, clock, moments, grantOf }: TokenExchangeParts) =>
  async ({ userId, sid, scopes }: Approval): Promise<Grant | undefined> => {
    const [row] = await authorizationsStore.selectApprover(database, { userId, sid }, moments().live)
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
    return grantOf({ ...row, authorization_id: uuidv7(now), sid: uuidv7(now), token_content }, randomToken())
  }

/**
 * The device gets its own session, which the user can end without ending others. Rows are locked in the order of `issue-code`: user,
 * session, application. The demands of the application are checked on the finished rows, with the condition that every later use checks
 * too.
 */
const createIssueTokens =
  ({ exchange: { database, clock, moments }, deviceRequests, ...parts }: RedeemDeviceParts) =>
  (
    { application, client }: Pick<DeviceRedemption<unknown>, 'application' | 'client'>,
    { approval, grant, refreshHash, tokensId, issuedAt }: NewDeviceTokens,
  ) =>
    commitUnlessRefused(database, async (sql) => {
      const { id: applicationId, name: applicationName } = application
      const { userId } = approval
      const { authorizationId, sid, content, accessToken } = grant
      const user = await parts.users.lockEnabled(sql, userId)
      const proof = user && (await parts.sessionLookups.lockLive(sql, { sessionId: approval.sid, userId }))
      if (!user || !proof) return refuse('ended')
      await authorizationsStore.holdApplication(sql, applicationId)
      if (!(await deviceRequests.take(sql, approval, sid))) return refuse('taken')
      if (!(await parts.deviceSessions.begin(sql, { user, sid, applicationId, proof, client }))) return refuse('ended')
      const { scopes } = content
      await authorizationsStore.upsertAuthorization(sql, {
        id: authorizationId,
        sid,
        applicationId,
        userId,
        scopes,
        now: clock.now(),
      })
      const tokens = { id: tokensId, authorizationId, refreshHash, content, issuedAt }
      const newAccessToken = { hash: fingerprint(accessToken), lifetime: accessTokenLifetime }
      await tokenStore.insertDeviceTokens(sql, { ...tokens, accessToken: newAccessToken }, moments())
      const [authorizedRow] = await authorizationsStore.selectStillAuthorized(sql, authorizationId, moments().live)
      if (!authorizedRow) return refuse('ended')
      await parts.events.recordInside(
        sql,
        { kind: 'application_used', userId, sessionId: sid, reason: applicationName },
        client,
      )
      return { done: true }
    })

/** Exchanges the code of a device for tokens, once, after its user has approved it. */
const createRedeemDevice = (parts: RedeemDeviceParts) => {
  const { exchange, deviceRequests } = parts
  const { database, clock, refreshTokens, endReused } = exchange
  const prepareGrant = createPrepareGrant(exchange)
  const issueTokens = createIssueTokens(parts)

  const pollApproval = async ({ application, deviceCode, client }: Omit<DeviceRedemption<unknown>, 'sign'>) => {
    const approval = await deviceRequests.poll(application, deviceCode)
    if (!isRefused(approval) || approval.refused !== 'reused_device' || approval.deviceSid === undefined)
      return approval
    const [authorization] = await authorizationsStore.selectOfDevice(database, approval.deviceSid)
    if (authorization) await endReused(authorization.id, client)
    return approval
  }

  return async <Signed>(
    redemption: DeviceRedemption<Signed>,
  ): Promise<RedeemedTokens<Signed> | Refused<DeviceFault | 'ended'>> => {
    const approval = await pollApproval(redemption)
    if (isRefused(approval)) return refuse(approval.refused)
    const grant = await prepareGrant(approval)
    if (!grant) return refuse('ended')
    const signed = await redemption.sign(grant)
    const now = clock.now()
    const claims = { tid: uuidv7(now), gen: 0, iat: epochSeconds(now) }
    const refreshToken = refreshTokens.sign(claims)
    const refreshHash = fingerprint(refreshToken)
    const newTokens = { approval, grant, refreshHash, tokensId: claims.tid, issuedAt: fromEpochSeconds(claims.iat) }
    const outcome = await issueTokens(redemption, newTokens)
    if (!isRefused(outcome)) return { grant, refreshToken, signed }
    if (outcome.refused === 'ended') return refuse('ended')
    const approvalNow = await pollApproval(redemption)
    return refuse(isRefused(approvalNow) ? approvalNow.refused : 'ended')
  }
}

export type ApproveDeviceParts = {
  exchange: TokenExchangeParts
  users: Users
  sessions: Sessions
  consents: Consents
  deviceRequests: DeviceRequests
}

type RequestToApprove = { userCode: string; request: DeviceRequest }

/**
 * The user lets a device sign in. As in `issue-code`, the refresh token must be one that a refresh would accept, and rows are locked in the
 * same order.
 */
const createApproveDevice =
  ({ exchange: { database }, users, sessions, consents, deviceRequests }: ApproveDeviceParts) =>
  (holder: TokenHolder, { userCode, request: { applicationId, scopes } }: RequestToApprove) =>
    commitUnlessRefused(database, async (sql) => {
      const { userId, sessionId } = holder
      const user = await users.lockEnabled(sql, userId)
      if (!user) return refuse('not_authenticated')
      const proof = await sessions.lockOfHolder(sql, holder)
      if (isRefused(proof)) return proof
      const [application] = await authorizationsStore.holdApplication(sql, applicationId)
      if (!application || !mayUse(application, user.groups)) return refuse('no_access')
      if (!(await deviceRequests.approve(sql, userCode, { userId, sessionId }))) return refuse('over')
      await consents.give(sql, userId, applicationId, scopes)
      return { approved: true }
    })

/** A use is written at most this often. That is enough, because a session lasts for weeks without any use. */
const writeInterval = 1 * hours

type Options = SessionLimits & { database: Database; clock: Clock }

/**
 * Notes that a device was used. No browser refreshes the session of a device, so the session goes on as long as the application refreshes
 * its own tokens.
 */
export const createNoteDeviceUse =
  ({ database, clock, lifetimes }: Options) =>
  async (sid: string) => {
    const now = fromEpochSeconds(epochSeconds(clock.now()))
    await tokensStore.noteDeviceUse(database, {
      sid,
      now,
      writeInterval,
      limits: { idle: lifetimes.refreshToken, age: lifetimes.session },
    })
  }

export type DeviceAuthorizations = ReturnType<typeof createDeviceAuthorizations>

/** Applications on devices without a browser: a user lets one in, and it gets its tokens. */
export const createDeviceAuthorizations = (parts: ApproveDeviceParts & RedeemDeviceParts) => ({
  approve: createApproveDevice(parts),
  redeem: createRedeemDevice(parts),
})
