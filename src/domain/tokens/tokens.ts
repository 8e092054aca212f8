import { createSigner, createVerifier } from 'fast-jwt'
import type { Clock } from '../../lib/clock.js'
import { minutes } from '../../lib/durations.js'
import { deriveKey } from '../../lib/keys.js'
import {
  type AccessClaims,
  cutName,
  isAccessClaims,
  isMoment,
  isRefreshClaims,
  type NewAccessClaims,
  type RefreshClaims,
} from './claims.js'
import { createVerifiedTokens } from './verified-tokens.js'

export const accessTokenLifetime = 15 * minutes

export type { AccessClaims, Method, RefreshClaims } from './claims.js'

/** A refresh token of ours whose signature was checked. `readRefresh` makes it, so that nobody checks it twice. */
export type RefreshToken = { text: string; claims: RefreshClaims }

type Kind = 'at+jwt' | 'rt+jwt'
type Sign = (claims: object) => string
type Verify = (token: string) => Record<string, unknown>

/** Longer than any token of ours; a longer text is refused unread. */
const maximumLength = 2048

/** With it the cookies of a browser stay under 4 KB, which is the most that many proxies take. */
const longestAccessToken = 1800

/** A longer address of the service would not fit into a token twice, with the longest username and email. */
export const longestIssuer = 160

/**
 * Header, payload and the 32 bytes of an HS256 signature. Two bits of its last character are not used, so four
 * texts decode to the same signature: only the one with both bits zero is accepted.
 */
const shape = /^([\w-]{1,256})\.[\w-]+\.[\w-]{42}[AEIMQUYcgkosw048]$/

/**
 * Signs and checks one kind of token with a ring of secrets: the first signs, all of them verify. Our own tokens have
 * exactly one possible header for each secret, so the header text itself selects the key: another algorithm, another
 * type, an unknown key id or an embedded key is never parsed.
 */
const createKind = (kind: Kind, secrets: readonly string[]) => {
  const signers: Sign[] = []
  const verifiers = new Map<string, Verify>()
  for (const secret of secrets) {
    const kid = deriveKey(secret, 'key id').toString('base64url').slice(0, 8)
    const sign = createSigner({
      key: secret,
      algorithm: 'HS256',
      kid,
      header: { alg: 'HS256', typ: kind },
    })
    const verify = createVerifier({
      key: secret,
      algorithms: ['HS256'],
      checkTyp: kind,
      ignoreExpiration: true,
      ignoreNotBefore: true,
    })
    signers.push(sign)
    verifiers.set(sign({}).split('.', 1)[0] ?? '', verify)
  }

  const verified = (token: string) => {
    const [, header = ''] = (token.length <= maximumLength && shape.exec(token)) || []
    const verify = verifiers.get(header)
    if (!verify) return undefined
    try {
      return verify(token)
    } catch {
      return undefined
    }
  }
  return { sign: signers[0] as Sign, signers, verified }
}

export type Tokens = ReturnType<typeof createTokens>

type Options = {
  secrets: readonly string[]
  clock: Clock
  /** The address of this service: access tokens name it, and those of another one are refused. */
  issuer: string
  /** Whether the session of a valid access token has ended since. It asks no store. */
  hasEnded?: (claims: AccessClaims) => boolean
}

export const createTokens = ({ secrets, clock, issuer, hasEnded = () => false }: Options) => {
  const access = createKind('at+jwt', secrets)
  const refresh = createKind('rt+jwt', secrets)
  // It belongs to these secrets: tokens of other secrets are remembered apart.
  const verifiedTokens = createVerifiedTokens()
  const now = () => clock.now().getTime() / 1000
  const hasBegun = (claims: object) => !('nbf' in claims) || (isMoment(claims.nbf) && claims.nbf <= now())

  const hasExpired = ({ exp }: { exp: number }) => exp <= now()

  const checkAccess = (token: string) => {
    const claims = access.verified(token)
    return claims && isAccessClaims(claims, issuer) ? claims : undefined
  }

  /** The longest username, email and address of the service leave room for a part of a long name, or for none. */
  const signAccess = ({ name, ...claims }: NewAccessClaims): string => {
    const shown = cutName(name ?? '')
    const named = shown === '' ? {} : { name: shown }
    const token = access.sign({ ...claims, sub: claims.userId, iss: issuer, aud: issuer, ...named })
    if (token.length <= longestAccessToken || shown === '') return token
    const letters = Array.from(shown)
    return signAccess({ ...claims, name: letters.slice(0, letters.length / 2).join('') })
  }

  /** What can change from one request to the next is asked at every request, also for a remembered token. */
  const isCurrent = (claims: AccessClaims) => hasBegun(claims) && !hasExpired(claims) && !hasEnded(claims)

  return {
    hasExpired,
    signAccess,
    signRefresh: (claims: RefreshClaims) => refresh.sign(claims),

    /** The same claims under every secret of the ring: one of them is the token that was signed before a secret was added. */
    signRefreshWithEach: (claims: RefreshClaims) => refresh.signers.map((sign) => sign(claims)),

    readAccess: (token: string) => {
      const remembered = verifiedTokens.find(token)
      const claims = remembered ?? checkAccess(token)
      if (!claims || !isCurrent(claims)) return undefined
      if (!remembered) verifiedTokens.remember(token, claims)
      return claims
    },
    /** The same for a token that was read before, without a look at its signature. For any other it knows nothing. */
    recallAccess: (token: string) => {
      const claims = verifiedTokens.find(token)
      return claims && isCurrent(claims) ? claims : undefined
    },
    rememberedTokens: verifiedTokens.held,
    /** An expired refresh token is still read: its session decides, and an ended one has its cookies cleared. */
    readRefresh: (text: string): RefreshToken | undefined => {
      const claims = refresh.verified(text)
      return claims && isRefreshClaims(claims) && hasBegun(claims) ? { text, claims } : undefined
    },
  }
}
