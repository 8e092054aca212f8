import type { Database } from '../platform/database/database.js'
import type { Ended } from './ended-sessions.js'
import { expiryFor, type SessionLife } from './live-sessions.js'
import type { Graces, HolderRow } from './sessions.store.js'
import type { NewAccessClaims, RefreshToken, Tokens } from './tokens.js'

/** The user in the answer to a request that gives tokens. */
type SignedInUser = {
  id: string
  username: string
  email: string
  name: string | null
  groups: readonly string[]
}

/** The tokens that a sign-in or a rotation gives. */
export type IssuedTokens = {
  user: SignedInUser
  sessionId: string
  accessToken: string
  accessTokenExpiresAt: Date
  refreshToken: string
  /** How long each cookie is valid, in seconds. */
  accessTokenMaxAge: number
  refreshTokenMaxAge: number
}

/** Claims have whole seconds. Every stored time from which a token is signed again must have whole seconds too. */
export const epochSeconds = (moment: Date) => Math.floor(moment.getTime() / 1000)
export const fromEpochSeconds = (value: number) => new Date(value * 1000)

/** What begins and renews sessions. */
export type SessionTools = SessionLife & {
  database: Database
  tokens: Tokens
  graces: Graces
  /**
   * Called for each session that this process has ended or did not find, and for tokens that it has replaced, as soon as the change is
   * committed.
   */
  onEnded: (ended: Ended) => void
}

/**
 * Issues an access token for a refresh token, from the row of the session that was just written or read. The result also says how long both
 * are valid. Tokens of this user that were issued before `accepted_from` are refused.
 */
export const issueTokens = (
  tools: SessionTools,
  holder: HolderRow,
  { text: refreshToken, claims }: RefreshToken,
  iat = claims.iat,
): IssuedTokens => {
  // A token that was signed before SESSION_MAX_AGE was lowered has a later expiry, and so has one that was signed by a clock ahead of ours.
  const end = Math.min(claims.exp, expiryFor(tools, { begun: claims.auth_time, refreshed: iat }))
  const exp = Math.min(iat + tools.lifetimes.accessToken / 1000, end)
  const { userId: id, sid, gen } = claims
  const { username, email, name, groups, accepted_from: acceptedFrom } = holder
  const issuedAt = Math.max(iat, acceptedFrom ? epochSeconds(acceptedFrom) : 0)
  const accessClaims: NewAccessClaims = {
    userId: id,
    username,
    sid,
    gen,
    iat: issuedAt,
    exp,
    email,
    name,
    groups,
    auth_time: epochSeconds(holder.authenticated_at),
    amr: holder.methods,
    mfa_time: holder.second_factor_at ? epochSeconds(holder.second_factor_at) : undefined,
  }
  return {
    user: { id, username, email, name, groups },
    sessionId: sid,
    accessToken: tools.tokens.signAccess(accessClaims),
    accessTokenExpiresAt: fromEpochSeconds(exp),
    refreshToken,
    accessTokenMaxAge: exp - iat,
    refreshTokenMaxAge: end - iat,
  }
}
