import type { Application } from '../../applications/applications.js'
import { createEndAuthorizations } from '../../applications/used-applications.js'
import { isRefused, refuse } from '../../contract/outcome.js'
import type { Client } from '../../http/request-origin.js'
import type { Clock } from '../../lib/clock.js'
import { seconds } from '../../lib/durations.js'
import { fingerprint } from '../../lib/random.js'
import type { Events } from '../../messages/events.js'
import type { Database } from '../../platform/database/database.js'
import { epochSeconds } from '../../sessions/issue-tokens.js'
import { createSessionLife, type SessionLimits } from '../../sessions/live-sessions.js'
import type { Sessions, TokenHolder } from '../../sessions/sessions.js'
import type { ProfileFields } from '../../users/profile-fields.js'
import type { Users } from '../../users/users.js'
import { createNoteDeviceUse } from '../device/devices.js'
import { type CodeRequest, createIssueCode, createRedeemCode } from './codes.js'
import { createGrantOf } from './grants.js'
import { createExchangeRefreshToken, createRefreshTokenTexts } from './refresh.js'
import type { Moments } from './tokens.store.js'
import * as store from './tokens.store.js'
import * as tokenStore from './tokens.store.js'

export type { CodeFault, CodeRequest } from './codes.js'
export type { RefreshFault } from './refresh.js'

type TokenExchangePartsOptions = SessionLimits & {
  database: Database
  clock: Clock
  events: Events
  profileFields: ProfileFields
  refreshTokens: RefreshTokenOptions
}

/** The first key signs refresh tokens. All of them verify. `grace` is `REFRESH_GRACE`. */
type RefreshTokenOptions = { keys: readonly Buffer[]; grace: number }

/**
 * For this long after a rotation, or for `REFRESH_GRACE` if that is longer, the previous token is exchanged for the newest one again: an
 * answer may be lost, and two processes may refresh at once.
 */
const minGracePeriod = 30 * seconds

export type TokenExchangeParts = ReturnType<typeof createTokenExchangeParts>

/** The parts that exchange a code, a refresh token or the code of a device for new tokens. */
export const createTokenExchangeParts = (options: TokenExchangePartsOptions) => {
  const { database, clock, refreshTokens, profileFields } = options
  const { liveNow } = createSessionLife(options)
  return {
    database,
    clock,
    refreshTokens: createRefreshTokenTexts(refreshTokens.keys),
    gracePeriod: Math.max(minGracePeriod, refreshTokens.grace),
    /** The times that the statements compare with. */
    moments: (): Moments => ({ live: liveNow(), clockOffset: clock.offset() }),
    /** Ends an authorization whose code or refresh token was used again after the time in which a retry is allowed. */
    endReused: createEndAuthorizations(options).endReused,
    grantOf: createGrantOf(profileFields),
  }
}

/**
 * The holder of an access token of an application, as claims of an access token of Latchkey. `gen` is the oldest generation that is valid.
 * So programs learn from the list of ended sessions, after a change of groups or a sign-out, that these claims are too old.
 */
const createHolderOf =
  ({ database, clock, moments }: TokenExchangeParts) =>
  async (accessToken: string) => {
    const [row] = await store.selectHolder(database, fingerprint(accessToken), moments())
    if (!row) return undefined
    const { scopes, name, second_factor_at: secondFactorAt } = row
    return {
      applicationId: row.application_id,
      scopes,
      claims: {
        userId: row.user_id,
        sid: row.sid,
        iat: epochSeconds(clock.now()),
        exp: epochSeconds(row.expires_at),
        gen: row.oldest_generation,
        auth_time: epochSeconds(row.authenticated_at),
        amr: row.methods,
        ...(secondFactorAt && { mfa_time: epochSeconds(secondFactorAt) }),
        // As at UserInfo, each scope shares its claims about the person.
        ...(scopes.includes('profile') && { username: row.username, ...(name !== null && { name }) }),
        ...(scopes.includes('email') && { email: row.email }),
        ...(scopes.includes('groups') && { groups: row.groups }),
      },
    }
  }

export type Authorizations = ReturnType<typeof createAuthorizations>

type AuthorizationsOptions = SessionLimits & {
  database: Database
  clock: Clock
  events: Events
  users: Users
  profileFields: ProfileFields
  sessions: Sessions
  refreshTokens: RefreshTokenOptions
}

/** An authorization lets an application act for a session. It has codes and tokens; to end it, its row is deleted. */
export const createAuthorizations = (options: AuthorizationsOptions) => {
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
    revoke: async (application: Application, token: string, client: Client) => {
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
