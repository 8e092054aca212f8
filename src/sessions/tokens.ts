import {
  type AccessClaims,
  hasAccessClaims,
  isGeneration,
  isId,
  isMoment,
  isText as isTokenText,
  longestClaimsOf,
  type TokenOwner,
  type WrittenClaims,
} from '../contract/access-claims.js'
import { isRefused, type Refused, refuse } from '../contract/outcome.js'
import { createTokenKey, headerOf, type TokenKey, type TokenKind } from '../keys/key-pair.js'
import type { Clock } from '../lib/clock.js'
import { keyId } from '../lib/random.js'

/** The claims that a session signs, each by its name. `sub`, `iss` and `aud` are added to them, and a long name is cut. */
export type NewAccessClaims = Omit<WrittenClaims, 'sub' | 'iss' | 'aud' | 'name' | 'groups'> & {
  name: string | null
  groups: readonly string[]
}
type EveryTokenHas = {
  [Name in keyof NewAccessClaims]: undefined extends NewAccessClaims[Name] ? never : Name
}[keyof NewAccessClaims]
/** A claim that a token can lack can be left out, as in the tokens of another release. */
type SignableClaims = Partial<NewAccessClaims> & { [Name in EveryTokenHas]: NewAccessClaims[Name] }

/** Browsers keep a refresh token for weeks, so a claim that a release adds is optional when it is read. `auth_time` is when the session began. */
export type RefreshClaims = {
  userId: string
  username: string
  sid: string
  gen: number
  auth_time: number
  iat: number
  exp: number
}

type Payload = Readonly<Record<string, unknown>>

const longestNameInToken = 64
const longestEmail = 254
/** `longest` counts characters. A text has at least as many units of UTF-16, so most need not be taken apart. */
const isTextUpTo = (value: string, longest: number) =>
  value.length > 0 && (value.length <= longest || Array.from(value).length <= longest)

/** Cuts a display name, which may be longer than a token has room for. */
const cutName = (name: string) => Array.from(name).slice(0, longestNameInToken).join('').trim()

/**
 * Checks every claim although the token is signed, because another program may share the secret. The token must be of this service for
 * itself.
 */
const isAccessClaims = (claims: Payload, issuer: string): claims is AccessClaims =>
  hasAccessClaims(claims) &&
  claims.iss === issuer &&
  claims.aud === issuer &&
  isTextUpTo(claims.username, longestNameInToken) &&
  isTextUpTo(claims.email, longestEmail) &&
  (claims.name === undefined || isTextUpTo(claims.name, longestNameInToken))

const isRefreshClaims = (claims: Payload): claims is RefreshClaims =>
  isId(claims.userId) &&
  isTokenText(claims.username) &&
  isTextUpTo(claims.username, longestNameInToken) &&
  isId(claims.sid) &&
  isGeneration(claims.gen) &&
  isMoment(claims.auth_time) &&
  isMoment(claims.iat) &&
  isMoment(claims.exp)

/** With tokens of this length the cookies of a browser stay under 4 KB, the most that many proxies accept. */
export const longestAccessToken = 1800

/** The length of an ES256 signature in base64url. */
const lengthOfLongerSignature = 86

const base64Length = (text: string) => Math.ceil((Buffer.byteLength(text) * 4) / 3)

/** The id of a key has at most 16 characters. */
const longestHeader = base64Length(JSON.stringify({ alg: 'ES256', typ: 'at+jwt', kid: 'x'.repeat(16) }))

/**
 * Whether the access tokens of a user stay short enough, with the longest values of all other claims, without a name, and with the longer
 * signature. Nothing is signed, because a command has no key.
 */
const fits = (issuer: string, owner: TokenOwner) => {
  const claims = base64Length(JSON.stringify(longestClaimsOf(owner, issuer)))
  const parts = [longestHeader, claims, lengthOfLongerSignature]
  const dots = parts.length - 1
  return parts.reduce((sum, length) => sum + length, dots) <= longestAccessToken
}

/** Bounds that are enough for the users of a busy instance, because an access token lasts 15 minutes. */
const usualBounds = { maxTokens: 32_768, maxBytes: 32 * 1024 * 1024 }

/**
 * The size of an entry: the text, about as much again for its claims, the entry in the map with its key, and the answers that are kept with
 * the claims.
 */
const sizeOf = (token: string) => 2 * token.length + 720

/** Copies a text. A part of a longer text would keep all of it in memory, here a whole header with cookies. */
const ownText = (token: string) => Buffer.from(token, 'latin1').toString('latin1')

/** The end of a token is its signature. A map would read the whole text of each token to find it. */
const keyOf = (token: string) => token.slice(-43)

type Verified = { token: string; claims: AccessClaims }

/**
 * Access tokens whose signature and claims were checked, so that the next request with the same text needs no second check.
 * The whole text is compared, and only `remember` adds one: a token that fails its check leaves nothing here.
 * Whether a token is valid *now* (expiry, not-before) is no part of this, and is asked at every request.
 *
 * There are two halves. When the newer half is full it becomes the older one, and what was in the older one is forgotten.
 * A token that is found in the older half moves to the newer one, so those in use stay.
 */
export const createVerifiedTokens = ({ maxTokens, maxBytes } = usualBounds) => {
  let newer = new Map<string, Verified>()
  let older = new Map<string, Verified>()
  let newerBytes = 0
  let olderBytes = 0

  const add = (key: string, verified: Verified) => {
    const size = sizeOf(verified.token)
    if (newer.size + 1 > maxTokens / 2 || newerBytes + size > maxBytes / 2) {
      older = newer
      olderBytes = newerBytes
      newer = new Map()
      newerBytes = 0
    }
    newer.set(key, verified)
    newerBytes += size
  }

  /** Keeps a token that is still in use. */
  const renew = (key: string) => {
    const verified = older.get(key)
    if (!verified) return undefined
    older.delete(key)
    olderBytes -= sizeOf(verified.token)
    add(keyOf(verified.token), verified)
    return verified
  }

  return {
    find: (token: string) => {
      const key = keyOf(token)
      const verified = newer.get(key) ?? renew(key)
      return verified?.token === token ? verified.claims : undefined
    },
    remember: (token: string, claims: AccessClaims) => {
      const own = ownText(token)
      // The claims are frozen, because many requests share them from now on.
      add(keyOf(own), { token: own, claims: Object.freeze(claims) })
    },
    size: () => ({ tokens: newer.size + older.size, bytes: newerBytes + olderBytes }),
  }
}

/**
 * A refresh token of ours. `readRefresh` has checked its signature, or this service has just signed the text again, so no other part checks
 * the signature.
 */
export type RefreshToken = { text: string; claims: RefreshClaims }

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
export const signingKeyId = (secret: string) => keyId(secret, 'key id')

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
  const signAccess = ({ name, ...claims }: SignableClaims): string => {
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
    fits: (owner: TokenOwner) => fits(issuer, owner),
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
