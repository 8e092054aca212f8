import { createBoundedFetch, type Fetch, reasonOf } from './bounded-fetch.js'
import type { Keys, VerifyingKey } from './keys.js'
import { decodeBase64Url, isObject, readObject, utf8 } from './token-text.js'

/** The service is asked for keys at most once in this time, because anyone can send tokens with unknown key ids. */
const pause = 30_000
/** The pause while no key is known: the service may be about to make its first one. */
const firstPause = 1_000
/** A service that hangs delays a request with a known key by at most this time, once in 30 seconds. */
const longestWait = 1_000
const limits = { milliseconds: 5_000, maxBytes: 64 * 1024 }
const maxKeys = 32
/** For how many seconds keys are used if the service does not say it, and at most. */
const usualMaxAge = 300
const longestMaxAge = 3_600

/** 64 bytes. Four bits of the last character are not used, and must be zero. */
const signatureShape = /^[\w-]{85}[AQgw]$/
const keyIdShape = /^[\w.-]{1,128}$/

const keyAlgorithm = { name: 'ECDSA', namedCurve: 'P-256' }

/** The key id of a header that says exactly what the service writes. */
const keyIdIn = (header: string) => {
  const { alg, typ, kid, ...more } = readObject(header) ?? {}
  const isOurs = alg === 'ES256' && typ === 'at+jwt' && Object.keys(more).length === 0
  return isOurs && typeof kid === 'string' && keyIdShape.test(kid) ? kid : undefined
}

type PublishedKey = VerifyingKey & { readonly x: string; readonly y: string }
type PublishedKeys = ReadonlyMap<string, PublishedKey>

/** A list with the public key for ES256, or an empty one for a key of another kind or a private one. A known key stays the same object. */
const importKey = async (jwk: unknown, knownKeys: PublishedKeys | undefined): Promise<PublishedKey[]> => {
  if (!isObject(jwk)) return []
  const { kty, crv, x, y, kid, alg = 'ES256', use = 'sig', d } = jwk
  const isUsable = kty === 'EC' && crv === 'P-256' && alg === 'ES256' && use === 'sig' && d === undefined
  if (!isUsable || typeof kid !== 'string' || typeof x !== 'string' || typeof y !== 'string') return []
  const same = knownKeys?.get(kid)
  if (same?.x === x && same.y === y) return [same]
  try {
    const key = await crypto.subtle.importKey('jwk', { kty, crv, x, y }, keyAlgorithm, false, ['verify'])
    return [{ id: kid, x, y, key }]
  } catch {
    return []
  }
}

const readKeys = async (text: string, knownKeys: PublishedKeys | undefined): Promise<PublishedKeys> => {
  const set: unknown = JSON.parse(text)
  if (!isObject(set) || !Array.isArray(set.keys)) throw new Error('The answer is no list of keys')
  const keys = await Promise.all(set.keys.slice(0, maxKeys).map((jwk) => importKey(jwk, knownKeys)))
  return new Map(keys.flat().map((each) => [each.id, each]))
}

const maxAgeMilliseconds = (headers: Headers) => {
  const [, seconds = String(usualMaxAge)] =
    /(?:^|[\s,])max-age=(\d{1,9})/i.exec(headers.get('cache-control') ?? '') ?? []
  return Math.min(Number(seconds), longestMaxAge) * 1000
}

type Options = { url: string; fetch: Fetch; now: () => number; onProblem: (message: string) => void }
type KeySet = { keys: PublishedKeys; until: number }

/**
 * Accepts ES256 and nothing else, by the keys that the service publishes. The keys are kept as long as the service says. While it
 * cannot be reached, the last good keys stay in use: only the service can sign new tokens, and old tokens expire soon.
 */
export const createPublishedKeys = ({ url, fetch, now, onProblem }: Options): Keys => {
  const ask = createBoundedFetch(fetch, limits)
  let known: KeySet | undefined
  /** The time at which the last attempt ended. A request that has waited for an attempt does not wait for the next. */
  let triedAt = Number.NEGATIVE_INFINITY
  let underWay: Promise<void> | undefined

  const load = async () => {
    const { status, headers, text } = await ask(url, { accept: 'application/json' })
    if (status !== 200) throw new Error(`The service answered with ${status}`)
    const wasEmpty = known?.keys.size === 0
    known = { keys: await readKeys(text, known?.keys), until: now() + maxAgeMilliseconds(headers) }
    if (!wasEmpty && known.keys.size === 0) onProblem(noKeysMessage(url))
  }

  /** All callers share one request. During the pause after a request, also after a failed one, there is no other. */
  const loadUnlessPaused = () => {
    if (!underWay && now() - triedAt < (known?.keys.size ? pause : firstPause)) return undefined
    underWay ??= load()
      .catch((error: unknown) => onProblem(`keys cannot be read from ${url}: ${reasonOf(error)}`))
      .finally(() => {
        triedAt = now()
        underWay = undefined
      })
    return underWay
  }

  const refresh = async () => {
    if (!known) await loadUnlessPaused()
    else if (now() >= known.until) await waitAtMost(longestWait, loadUnlessPaused())
  }

  const find = async (kid: string) => {
    await refresh()
    if (known && !known.keys.has(kid)) await loadUnlessPaused()
    return known?.keys.get(kid)
  }

  return {
    check: async ({ header, signed, signature }) => {
      const kid = keyIdIn(header)
      if (kid === undefined) return 'unknown_key'
      if (!signatureShape.test(signature)) return 'bad_signature'
      const found = await find(kid)
      if (!found) return known ? 'unknown_key' : 'unavailable'
      const signatureAlgorithm = { name: 'ECDSA', hash: 'SHA-256' }
      const isGood = await crypto.subtle.verify(signatureAlgorithm, found.key, decodeBase64Url(signature), utf8(signed))
      return isGood ? found : 'bad_signature'
    },
    holds: (key) => known?.keys.get(key.id) === key,
    refresh,
    areLoaded: () => known !== undefined,
    lastingProblem: () => (known?.keys.size === 0 ? noKeysMessage(url) : undefined),
  }
}

const noKeysMessage = (url: string) =>
  `no keys at ${url}: the service needs ACCESS_TOKEN_ALGORITHM=ES256 (its default is HS256), or the verifier needs \`secret\` instead of \`jwks\``

const waitAtMost = async (milliseconds: number, work: Promise<void> | undefined) => {
  let timer: ReturnType<typeof setTimeout> | undefined
  const timeout = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, milliseconds)
  })
  await Promise.race([work, timeout])
  clearTimeout(timer)
}
