import { isRefused, type Refused, refuse } from '../contract/outcome.js'
import { createTokenKey, headerOf, type TokenKey, type TokenKind } from '../keys/token-keys.js'
import type { Clock } from '../lib/clock.js'
import { minutes } from '../lib/durations.js'
import { deriveKey } from '../lib/random.js'

import {
  type AccessClaims,
  cutName,
  isAccessClaims,
  isMoment,
  isRefreshClaims,
  type NewAccessClaims,
  type RefreshClaims,
} from './claims.js'
import { createFits, longestAccessToken } from './token-length.js'
import { createVerifiedTokens } from './verified-tokens.js'

export const accessTokenLifetime = 15 * minutes

export type { AccessClaims, RefreshClaims } from './claims.js'

/**
 * A refresh token of ours. `readRefresh` has checked its signature, or this service has just signed the text again, so no other part checks
 * the signature.
 */
export type RefreshToken = { text: string; claims: RefreshClaims }

/** The longest address of the service. A longer one would not fit into a token twice, with the longest username and email. */
export const longestIssuer = 160

/** Key pairs for access tokens besides the secrets, from `keys`. None of the functions makes a query. */
export type TokenKeyPairs = {
  /** The key that signs now. Undefined if the first secret signs. */
  signer(): TokenKey | undefined
  find(header: string): TokenKey | undefined
  /** A number that changes when a key is removed, whose tokens are refused from then on. */
  removals(): number
}

const noKeyPairs: TokenKeyPairs = { signer: () => undefined, find: () => undefined, removals: () => 0 }

/** The `kid` of tokens that this secret has signed. It says nothing about the secret. */
export const signingKeyId = (secret: string) => deriveKey(secret, 'key id').toString('base64url').slice(0, 8)

/** One kind of token with a list of secrets. The first secret signs, and all of them verify. */
const createKind = (kind: TokenKind, secrets: readonly string[]) => {
  const keys = secrets.map((secret) => createTokenKey(kind, { algorithm: 'HS256', kid: signingKeyId(secret), secret }))
  const byHeader = new Map(keys.map((key) => [key.header, key]))
  return { first: keys[0] as TokenKey, all: keys, find: (header: string) => byHeader.get(header) }
}

/** Tokens that were checked before with the present keys. All of them are forgotten when a key is removed. */
const createRemembered = ({ removals }: TokenKeyPairs) => {
  let verified = createVerifiedTokens()
  let seenRemovals = removals()
  return () => {
    if (removals() === seenRemovals) return verified
    seenRemovals = removals()
    verified = createVerifiedTokens()
    return verified
  }
}

/** Why an access token is not accepted. One that has expired, or whose session has ended, is of ours: its claims are known. */
export type RefusedToken = Refused<'invalid'> | (Refused<'expired' | 'ended'> & { claims: AccessClaims })
const invalidToken = refuse('invalid')

export type Tokens = ReturnType<typeof createTokens>

type Options = {
  secrets: readonly string[]
  clock: Clock
  /** The address of this service, which access tokens name. Tokens of another service are refused. */
  issuer: string
  keyPairs?: TokenKeyPairs
  /** Whether the session of a valid access token has ended since. It makes no query. */
  hasEnded?: (claims: AccessClaims) => boolean
}

export const createTokens = (options: Options) => {
  const { secrets, clock, issuer, keyPairs = noKeyPairs, hasEnded = () => false } = options
  const access = createKind('at+jwt', secrets)
  const refresh = createKind('rt+jwt', secrets)
  const rememberedTokens = createRemembered(keyPairs)
  const now = () => clock.now().getTime() / 1000
  const hasBegun = (claims: object) => !('nbf' in claims) || (isMoment(claims.nbf) && claims.nbf <= now())

  const hasExpired = ({ exp }: { exp: number }) => exp <= now()

  const checkAccess = (token: string) => {
    const header = headerOf(token)
    const claims = (access.find(header) ?? keyPairs.find(header))?.verify(token)
    return claims && isAccessClaims(claims, issuer) ? claims : undefined
  }

  /** A long name is cut. With the longest username, email and address of the service, it may be left out. */
  const signAccess = ({ name, ...claims }: NewAccessClaims): string => {
    const shownName = cutName(name ?? '')
    const named = shownName === '' ? {} : { name: shownName }
    const { sign } = keyPairs.signer() ?? access.first
    const token = sign({ ...claims, sub: claims.userId, iss: issuer, aud: issuer, ...named })
    if (token.length <= longestAccessToken || shownName === '') return token
    const letters = Array.from(shownName)
    return signAccess({ ...claims, name: letters.slice(0, letters.length / 2).join('') })
  }

  /** Checks what can change from one request to the next. This is done at every request, even for a remembered token. */
  const faultNow = (claims: AccessClaims): RefusedToken | undefined => {
    if (!hasBegun(claims)) return invalidToken
    if (hasExpired(claims)) return refuse('expired', { claims })
    return hasEnded(claims) ? refuse('ended', { claims }) : undefined
  }

  const judgeAccess = (token: string): AccessClaims | RefusedToken => {
    const verifiedTokens = rememberedTokens()
    const remembered = verifiedTokens.find(token)
    const claims = remembered ?? checkAccess(token)
    if (!claims) return invalidToken
    const fault = faultNow(claims)
    if (fault) return fault
    if (!remembered) verifiedTokens.remember(token, claims)
    return claims
  }

  return {
    hasExpired,
    signAccess,
    fits: createFits(issuer),
    signRefresh: (claims: RefreshClaims) => refresh.first.sign(claims),

    /** Signs the same claims with every secret. One of the results is the token that was signed before a newer secret was added. */
    signRefreshWithEach: (claims: RefreshClaims) => refresh.all.map(({ sign }) => sign(claims)),

    /** The claims of a token that is accepted, or why it is not. */
    judgeAccess,
    readAccess: (token: string) => {
      const judged = judgeAccess(token)
      return isRefused(judged) ? undefined : judged
    },
    rememberedSize: () => rememberedTokens().size(),
    /** An expired refresh token is still read, because its session decides. If the session has ended, the cookies are cleared. */
    readRefresh: (text: string): RefreshToken | undefined => {
      const claims = refresh.find(headerOf(text))?.verify(text)
      return claims && isRefreshClaims(claims) && hasBegun(claims) ? { text, claims } : undefined
    },
  }
}
