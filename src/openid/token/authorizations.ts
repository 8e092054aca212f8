import type { Application } from '../../applications/applications.js'
import { createEndAuthorizations } from '../../applications/used-applications.js'

import { isRefused, refuse } from '../../contract/outcome.js'
import type { Client } from '../../http/request-origin.js'
import type { Clock } from '../../lib/clock.js'
import { fingerprint } from '../../lib/random.js'

import type { Events } from '../../messages/events.js'
import type { Database } from '../../platform/database/database.js'
import type { SessionLimits } from '../../sessions/live-sessions.js'
import type { Sessions, TokenHolder } from '../../sessions/sessions.js'
import type { ProfileFields } from '../../users/profile-fields.js'
import type { Users } from '../../users/users.js'

import { createNoteDeviceUse } from '../device/device-use.js'
import { createExchangeRefreshToken } from './exchange-refresh-token.js'
import { type CodeRequest, createIssueCode } from './issue-code.js'
import { createRedeemCode } from './redeem-code.js'
import { createTokenExchangeParts, type RefreshTokenOptions } from './token-exchange-parts.js'
import { createHolderOf } from './token-holder.js'
import * as tokenStore from './tokens.store.js'

export type { RefreshFault } from './exchange-refresh-token.js'
export type { CodeRequest } from './issue-code.js'
export type { CodeFault } from './judge-code.js'

export type Authorizations = ReturnType<typeof createAuthorizations>

type Options = SessionLimits & {
  database: Database
  clock: Clock
  events: Pick<Events, 'recordInside'>
  users: Pick<Users, 'lockEnabled'>
  profileFields: Pick<ProfileFields, 'knownValues'>
  sessions: Pick<Sessions, 'lockOfHolder'>
  refreshTokens: RefreshTokenOptions
}

/** An authorization lets an application act for a session. It has codes and tokens; to end it, its row is deleted. */
export const createAuthorizations = (options: Options) => {
  const { database } = options
  const issueCodeInside = createIssueCode(options)
  const { endOfDevice } = createEndAuthorizations(options)
  const parts = createTokenExchangeParts(options)
  const { moments, refreshTokens, grantOf } = parts
  const exchange = createExchangeRefreshToken(parts)
  const noteUse = createNoteDeviceUse(options)

  return {
    issueCode: (holder: TokenHolder, request: CodeRequest) =>
      database.transaction((sql) => issueCodeInside(sql, holder, request)),
    /** The transaction must hold no row but the user's. */
    issueCodeInside,

    redeem: createRedeemCode(parts),
    refresh: async (request: Parameters<typeof exchange>[0]) => {
      const refreshed = await exchange(request)
      if (!isRefused(refreshed)) await noteUse(refreshed.grant.sid)
      return refreshed
    },

    /** The grant of an access token. Undefined if the token has expired or its authorization has ended. */
    grantOfAccessToken: async (accessToken: string) => {
      const [row] = await tokenStore.selectByAccessToken(database, fingerprint(accessToken), moments())
      return row && grantOf(row, accessToken, row.scopes)
    },

    holderOf: createHolderOf(parts),

    /**
     * Revokes one access token, or a refresh token with all access tokens that came with it. A token of another application stays, and the
     * result is `others_token`. A device that signs out leaves no session behind.
     */
    revoke: async (application: Pick<Application, 'id'>, token: string, client: Client) => {
      const claims = refreshTokens.read(token)
      if (!claims) {
        const [found] = await tokenStore.deleteAccessToken(database, fingerprint(token), application.id)
        return found?.is_own === false ? refuse('others_token') : undefined
      }
      const [found] = await tokenStore.deleteTokens(database, claims.tid, application.id)
      if (found?.is_own === false) return refuse('others_token')
      if (found) await endOfDevice(found.sid, client)
      return undefined
    },
  }
}
