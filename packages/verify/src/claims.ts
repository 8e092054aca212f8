import { hasAccessClaims } from '#contract/access-claims.js'
import { countFactors } from '#contract/factors.js'

/** The claims of an access token, as in the contract. They are written out, because this package ships its own types. */
export type AccessClaims = {
  readonly userId: string
  readonly username: string
  readonly sid: string
  readonly sub: string
  readonly iss: string
  readonly aud: string
  readonly iat: number
  readonly exp: number
  readonly nbf?: number
  readonly gen: number
  readonly email: string
  readonly name?: string
  readonly auth_time: number
  readonly amr: readonly string[]
  readonly mfa_time?: number
  readonly groups?: readonly string[]
}

/** The user of a valid access token, and how the session was proven. */
export type Verified = {
  readonly ok: true
  /** A refusal has the same property, so that `else result.code` compiles without `strict`, too. */
  readonly code?: undefined
  readonly user: {
    /** The id never changes, so store it and not the username. */
    readonly id: string
    readonly username: string
    readonly name: string | null
    readonly email: string
  }
  /** The id is the same for all requests of one sign-in in one browser. */
  readonly sessionId: string
  readonly factors: 1 | 2
  /** When the user last proved who they are. */
  readonly authTime: Date
  /** When they last proved a second factor, by a code or a passkey. Null if they have not in this session. */
  readonly secondFactorTime: Date | null
  /** The methods of proof: `pwd`, `otp`, `rec`, `passkey`, `provider`, `mail`. A later version may have more. */
  readonly amr: readonly string[]
  /** The groups of the user, sorted. A change counts within two seconds with the option `revocations`, otherwise with the next token. */
  readonly groups: readonly string[]
  readonly expiresAt: Date
  readonly claims: AccessClaims
}

/** In seconds. The service signs no access token for longer. */
const longestLife = 900

export const isAccessClaims = (claims: Readonly<Record<string, unknown>>): claims is AccessClaims =>
  hasAccessClaims(claims) && claims.exp - claims.iat <= longestLife

const deepFrozen = (verified: Verified): Verified => {
  const { user, claims, amr, groups } = verified
  for (const part of [user, claims, amr, groups]) Object.freeze(part)
  return Object.freeze(verified)
}

/** The result is frozen, because several requests with one token share it. */
export const verifiedOf = (claims: AccessClaims): Verified => {
  const { userId: id, username, name = null, email, sid, auth_time, mfa_time, exp, amr, groups = [] } = claims
  return deepFrozen({
    ok: true,
    user: { id, username, name, email },
    sessionId: sid,
    factors: countFactors(amr),
    authTime: new Date(auth_time * 1000),
    secondFactorTime: mfa_time === undefined ? null : new Date(mfa_time * 1000),
    amr,
    groups,
    expiresAt: new Date(exp * 1000),
    claims,
  })
}
