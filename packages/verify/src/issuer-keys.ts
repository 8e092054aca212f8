import { createBoundedFetch, type Fetch, reasonOf } from './bounded-fetch.js'
import { decodeBase64Url, isObject, type TokenText, utf8 } from './token-text.js'

const limits = { milliseconds: 5_000, maxBytes: 64 * 1024 }
const maxKeys = 32
/** Keys are read again after this time, because one that is no longer published must not count any more. */
const maxAge = 300_000
/** The issuer is asked at most once in this time, because anyone can send tokens with unknown keys. */
const pause = 10_000

const rs256 = { alg: 'RS256', parameters: { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' } }
const es256 = { alg: 'ES256', parameters: { name: 'ECDSA', hash: 'SHA-256', namedCurve: 'P-256' } }

/** A key is for one algorithm, which follows from the key and not from the token. */
export type IssuerKey = (typeof rs256 | typeof es256) & { key: CryptoKey }

const importKey = async (jwk: unknown): Promise<[string, IssuerKey][]> => {
  if (!isObject(jwk)) return []
  const { kty, crv, kid, alg, use = 'sig', n, e, x, y } = jwk
  const algorithm = kty === 'RSA' ? rs256 : kty === 'EC' && crv === 'P-256' ? es256 : undefined
  if (!algorithm || typeof kid !== 'string' || use !== 'sig' || (alg ?? algorithm.alg) !== algorithm.alg) return []
  try {
    const publicParts = (kty === 'RSA' ? { kty, n, e } : { kty, crv, x, y }) as JsonWebKey
    const key = await crypto.subtle.importKey('jwk', publicParts, algorithm.parameters, false, ['verify'])
    return [[kid, { ...algorithm, key }]]
  } catch {
    return []
  }
}

export const hasSignature = async ({ key, parameters }: IssuerKey, { signature, signed }: TokenText) => {
  try {
    return await crypto.subtle.verify(parameters, key, decodeBase64Url(signature), utf8(signed))
  } catch {
    // The text of the signature has a length that no base64 text has.
    return false
  }
}

const readKeys = async (ask: ReturnType<typeof createBoundedFetch>, url: string) => {
  const { status, text } = await ask(url, { accept: 'application/json' })
  const set: unknown = status === 200 ? JSON.parse(text) : undefined
  if (!isObject(set) || !Array.isArray(set.keys)) throw new Error(`The keys were answered with ${status}`)
  const keys = await Promise.all(set.keys.slice(0, maxKeys).map(importKey))
  return new Map(keys.flat())
}

type Known = { keys: ReadonlyMap<string, IssuerKey>; readAt: number }

/** The keys of ID tokens and logout tokens, for a program that can wait: it throws if the issuer cannot be asked now. */
export const createIssuerKeys = (fetch: Fetch, now: () => number) => {
  const ask = createBoundedFetch(fetch, limits)
  let known: Known | undefined
  let askedAt = Number.NEGATIVE_INFINITY

  const load = async (url: string) => {
    askedAt = now()
    known = { keys: await readKeys(ask, url), readAt: now() }
    return known.keys
  }

  /** Undefined: there is no such key. It throws if that cannot be known now. */
  return async (url: string, kid: string) => {
    const isFresh = known !== undefined && now() - known.readAt < maxAge
    const found = isFresh ? known?.keys.get(kid) : undefined
    if (found) return found
    if (isFresh && now() - askedAt < pause) throw new Error('The keys of the issuer were read a moment ago')
    return (await load(url)).get(kid)
  }
}

type RingOptions = { url: string; fetch: Fetch; now: () => number; onProblem: (message: string) => void }

/**
 * The same keys for a guard, which must answer every request. While the issuer is away, the last keys stay in use: only the issuer signs new
 * tokens, and old ones expire soon.
 */
export const createIssuerKeyRing = ({ url, fetch, now, onProblem }: RingOptions) => {
  const ask = createBoundedFetch(fetch, limits)
  let known: Known | undefined
  let askedAt = Number.NEGATIVE_INFINITY
  let underWay: Promise<void> | undefined

  const load = async () => {
    askedAt = now()
    try {
      known = { keys: await readKeys(ask, url), readAt: now() }
    } catch (error) {
      onProblem(`keys cannot be read from ${url}: ${reasonOf(error)}`)
    }
  }

  /** All callers share one request. */
  const loadUnlessPaused = () => {
    if (!underWay && known && now() - askedAt < pause) return undefined
    if (!underWay && !known && now() - askedAt < 1_000) return undefined
    underWay ??= load().finally(() => {
      underWay = undefined
    })
    return underWay
  }

  return async (kid: string): Promise<IssuerKey | 'unavailable' | undefined> => {
    const isOld = !known || now() - known.readAt >= maxAge
    if (isOld || !known?.keys.has(kid)) await loadUnlessPaused()
    return known ? known.keys.get(kid) : 'unavailable'
  }
}
