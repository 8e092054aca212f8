import { mayUse } from '../../applications/applications.js'
import * as store from '../../applications/authorizations.store.js'
import type { Consents } from '../../applications/used-applications.js'

import { isRefused, refuse } from '../../contract/outcome.js'
import { commitUnlessRefused } from '../../platform/database/database.js'
import type { Sessions, TokenHolder } from '../../sessions/sessions.js'
import type { Users } from '../../users/users.js'
import type { TokenExchangeParts } from '../token/token-exchange-parts.js'
import type { DeviceRequest, DeviceRequests } from './device-requests.js'

export type ApproveDeviceParts = {
  exchange: Pick<TokenExchangeParts, 'database'>
  users: Pick<Users, 'lockEnabled'>
  sessions: Pick<Sessions, 'lockOfHolder'>
  consents: Pick<Consents, 'give'>
  deviceRequests: Pick<DeviceRequests, 'approve'>
}

type RequestToApprove = { userCode: string; request: Pick<DeviceRequest, 'applicationId' | 'scopes'> }

/**
 * The user lets a device sign in. As in `issue-code`, the refresh token must be one that a refresh would accept, and rows are locked in the
 * same order.
 */
export const createApproveDevice =
  ({ exchange: { database }, users, sessions, consents, deviceRequests }: ApproveDeviceParts) =>
  (holder: TokenHolder, { userCode, request: { applicationId, scopes } }: RequestToApprove) =>
    commitUnlessRefused(database, async (sql) => {
      const { userId, sessionId } = holder
      const user = await users.lockEnabled(sql, userId)
      if (!user) return refuse('not_authenticated')
      const proof = await sessions.lockOfHolder(sql, holder)
      if (isRefused(proof)) return proof
      const [application] = await store.holdApplication(sql, applicationId)
      if (!application || !mayUse(application, user.groups)) return refuse('no_access')
      if (!(await deviceRequests.approve(sql, userCode, { userId, sessionId }))) return refuse('over')
      await consents.give(sql, userId, applicationId, scopes)
      return { approved: true }
    })
