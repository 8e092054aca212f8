import type { AccountChangesRoom } from '../../account-changes/open-account-changes.js'
import { type Application, mayUse } from '../../applications/applications.js'
import type { ApplicationsRoom } from '../../applications/open-applications.js'
import { sharedClaims } from '../../contract/access-claims.js'
import { isRefused, refuse } from '../../contract/outcome.js'
import type { RequestOrigin } from '../../http/request-origin.js'
import type { Keys } from '../../keys/open-keys.js'
import { seconds } from '../../lib/durations.js'
import { fingerprint } from '../../lib/random.js'
import type { MessagesRoom } from '../../messages/open-messages.js'
import { commitUnlessRefused, type Transaction } from '../../platform/database/database.js'
import type { Platform } from '../../platform/platform.js'
import { epochSeconds } from '../../sessions/issue-tokens.js'
import { liveNow } from '../../sessions/live-sessions.js'
import type { SessionsRoom } from '../../sessions/open-sessions.js'
import type { TokenHolder } from '../../sessions/sessions.js'
import type { Config } from '../../settings/config.js'
import type { UsersRoom } from '../../users/open-users.js'
import { subjectFrom } from './grants.js'
import { createRefreshTokenTexts } from './refresh-token-texts.js'
import * as store from './tokens.store.js'
import { narrowedTo } from './user-claims.js'

/**
 * For this long after a rotation, or for `REFRESH_GRACE` if that is longer, the previous token is exchanged for the newest one again: an
 * answer may be lost, and two processes may refresh at once.
 */
const minGracePeriod = 30 * seconds

export type TokenExchange = ReturnType<typeof createTokenExchange>

/** What exchanging a code, a refresh token or the code of a device for tokens has in common. */
export const createTokenExchange = (
  { lifetimes, publicUrl, refreshGrace }: Config,
  { database, clock }: Platform,
  below: Keys & UsersRoom & SessionsRoom & MessagesRoom & ApplicationsRoom & AccountChangesRoom,
) => {
  return {
    ...below,
    database,
    clock,
    lifetimes,
    publicUrl,
    refreshTokens: createRefreshTokenTexts(below.keysFor('refresh tokens of applications')),
    gracePeriod: Math.max(minGracePeriod, refreshGrace),
    /** The times that the statements compare with. */
    moments: (): store.Moments => ({ live: liveNow({ clock, lifetimes }), clockOffset: clock.offset() }),
  }
}

/**
 * Locks what an application gets from the session of a holder, in the order in which everything that ends a session locks it (user, session,
 * application, resource): a session that ends at the same moment leaves no code and no approval behind. Returns how the session was proven.
 */
export const holdForApplication = async (
  { users, sessions }: TokenExchange,
  sql: Transaction,
  holder: TokenHolder,
  applicationId: string,
  resourceId?: string,
) => {
  const [user, proof, [access], [resource]] = await Promise.all([
    users.lockEnabled(sql, holder.userId),
    sessions.lockOfHolder(sql, holder),
    store.holdApplication(sql, applicationId),
    resourceId === undefined ? [] : store.holdResource(sql, resourceId),
  ])
  if (!user) return refuse('not_authenticated')
  if (isRefused(proof)) return proof
  if (!access || !mayUse(access, user.groups)) return refuse('no_access')
  return resourceId === undefined || (resource && mayUse(resource, user.groups)) ? proof : refuse('no_access')
}

/**
 * Runs `work`, which calls `holdForApplication`, in one transaction. If the refresh token of the holder was stolen, the session ends: copied
 * cookies must not become the tokens of an application or a device unnoticed.
 */
export const commitForHolder = async <Outcome>(
  { database, endStolen }: TokenExchange,
  { refreshToken }: TokenHolder,
  origin: RequestOrigin,
  work: (sql: Transaction) => Promise<Outcome>,
) => {
  const outcome = await commitUnlessRefused(database, work)
  if (isRefused(outcome) && outcome.refused === 'theft') await endStolen(refreshToken, origin)
  return outcome
}

/** The claims of an access token of Latchkey, for a program that an application calls. As at UserInfo, each scope shares its own. */
const claimsOf = (row: store.IntrospectedRow, issuer: string, now: Date) =>
  sharedClaims(
    {
      userId: row.user_id,
      username: row.username,
      sid: row.sid,
      iat: epochSeconds(now),
      exp: epochSeconds(row.expires_at),
      gen: row.oldest_generation,
      email: row.email,
      name: row.name ?? undefined,
      auth_time: epochSeconds(row.authenticated_at),
      amr: row.methods,
      mfa_time: row.second_factor_at ? epochSeconds(row.second_factor_at) : undefined,
      groups: row.groups,
      sub: row.user_id,
      iss: issuer,
      aud: issuer,
    },
    row.scopes,
  )

/** Whom a signed token names to an application behind a proxy. */
export type ResourceUser = {
  userId: string
  username: string
  name: string | undefined
  email: string
  groups: readonly string[]
}

/** Access tokens, and the end of both kinds of tokens. An authorization lets an application act for a session; it ends with its row. */
export const createAuthorizations = (exchange: TokenExchange) => {
  const { database, clock, publicUrl, refreshTokens, moments, usedApplications, profileFields } = exchange
  return {
    /** What UserInfo tells for the access token with this hash. Undefined if it has expired or its authorization has ended. */
    sharedByAccessToken: async (hash: Uint8Array) => {
      const [row] = await store.selectByAccessToken(database, hash, moments())
      if (!row) return undefined
      const content = row.scopes ? narrowedTo(row.scopes, row.token_content) : row.token_content
      return { authorizationId: row.authorization_id, subject: subjectFrom(profileFields, row), content }
    },

    /**
     * The holder of an access token of an application, as claims of an access token of Latchkey. `gen` is the oldest generation that is
     * valid. So programs learn from the list of ended sessions, after a change of groups or a sign-out, that these claims are too old.
     */
    holderOf: async (accessToken: string) => {
      const [row] = await store.selectHolder(database, fingerprint(accessToken), moments())
      return row && { clientId: row.application_id, scopes: row.scopes, claims: claimsOf(row, publicUrl, clock.now()) }
    },

    /** The scopes of the resource that a refresh token is for. Undefined if it is for none. */
    resourceScopesOf: async (refreshToken: string) => {
      const claims = refreshTokens.read(refreshToken)
      return claims && (await store.selectResourceScopes(database, claims.tid))[0]?.scopes
    },

    /** The user of a signed token, as they are now. Undefined if the session, or the right to use the resource, has ended. */
    userOfResourceToken: async ({ sid, aud }: { sid: string; aud: string }): Promise<ResourceUser | undefined> => {
      const [row] = await store.selectResourceUser(database, sid, aud, moments().live)
      return row && { ...row, name: row.name ?? undefined }
    },

    /**
     * Revokes one access token, or a refresh token with all access tokens that came with it. A token of another client stays, and the
     * result is `others_token`. A device that signs out leaves no session behind.
     */
    revoke: async (client: Application, token: string, origin: RequestOrigin) => {
      const claims = refreshTokens.read(token)
      if (!claims) {
        const [found] = await store.deleteAccessToken(database, fingerprint(token), client.id)
        return found?.is_own === false ? refuse('others_token') : undefined
      }
      const [found] = await store.deleteTokens(database, claims.tid, client.id)
      if (found?.is_own === false) return refuse('others_token')
      if (found) await usedApplications.endOfDevice(found.sid, origin)
      return undefined
    },
  }
}
