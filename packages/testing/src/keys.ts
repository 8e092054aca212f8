import type { WrittenClaims } from '#contract/access-claims.js'
import { isGroupList, maxGroups } from '#contract/groups.js'
import type { NamesOf } from '../../option-names.js'
import { refuseUnknown } from './faults.js'

const encode = (bytes: Uint8Array) =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '')
const encodeText = (text: string) => encode(new TextEncoder().encode(text))

/** The user of the token. Missing values are made up. Without an `id`, each token is of another user. */
export type TestTokenOptions = {
  /** A UUID in small letters. */
  readonly id?: string
  readonly username?: string
  readonly email?: string
  readonly name?: string
  readonly groups?: readonly string[]
  /** With 2, the user has proven a second factor, too, `age` seconds ago. */
  readonly factors?: 1 | 2
  /** How long ago the user proved who they are, in seconds. */
  readonly age?: number
  /** The lifetime of the token in seconds, at most 900. With a negative number the token has expired. */
  readonly lifetime?: number
  /** A UUID in small letters. */
  readonly sessionId?: string
}

/** In seconds. The service signs no access token for longer. */
const longestLife = 900
const longestToken = 2048

type Rule = { isValid: (value: unknown) => boolean; message: string }

const uuid: Rule = {
  isValid: (value) => typeof value === 'string' && /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/.test(value),
  message: 'must be a UUID in small letters',
}
const longestText = 500
const text: Rule = {
  isValid: (value) => typeof value === 'string' && value.length <= longestText && /^[^\p{Cc}\p{Cs}]+$/u.test(value),
  message: `must be a text of 1 to ${longestText} characters, none of them a control character`,
}
const wholeSeconds = (least: number, most: number): Rule => ({
  isValid: (value) => Number.isSafeInteger(value) && Number(value) >= least && Number(value) <= most,
  message: `must be a whole number of seconds, ${least} to ${most}`,
})
const aDay = 86_400

/** The rules for each option. A guard would refuse a token with other values, and the test would not learn why. */
const rules: Record<keyof TestTokenOptions, Rule> = {
  id: uuid,
  username: text,
  email: text,
  name: text,
  groups: {
    isValid: isGroupList,
    message: `must be at most ${maxGroups} names of small letters, digits, dots, underscores and hyphens, each up to 32 characters long`,
  },
  factors: { isValid: (value) => value === 1 || value === 2, message: 'must be 1 or 2' },
  age: wholeSeconds(0, 365 * aDay),
  lifetime: wholeSeconds(-365 * aDay, longestLife),
  sessionId: uuid,
}

const refuseWrong = (options: TestTokenOptions) => {
  refuseUnknown(options, rules, 'a token')
  const names = Object.keys(options) as (keyof TestTokenOptions)[]
  const wrong = names.find((name) => options[name] !== undefined && !rules[name].isValid(options[name]))
  if (wrong !== undefined) throw new TypeError(`${wrong}: ${rules[wrong].message}`)
}

/** The claims of an access token, as the service writes them. */
const claimsOf = (issuer: string, options: TestTokenOptions): WrittenClaims => {
  const { username = 'ada', factors = 1, age = 0, lifetime = longestLife, groups = [], name } = options
  const now = Math.floor(Date.now() / 1000)
  const id = options.id ?? crypto.randomUUID()
  const hasExpired = lifetime <= 0
  return {
    userId: id,
    sub: id,
    username,
    email: options.email ?? `${username}@example.com`,
    name: name || undefined,
    iss: issuer,
    aud: issuer,
    sid: options.sessionId ?? crypto.randomUUID(),
    gen: 0,
    iat: hasExpired ? now + lifetime - longestLife : now,
    exp: now + lifetime,
    auth_time: now - age,
    amr: factors === 2 ? ['pwd', 'otp'] : ['pwd'],
    mfa_time: factors === 2 ? now - age : undefined,
    groups: [...groups].sort(),
  }
}

const keyNames: NamesOf<TestKeysOptions> = { publicUrl: true }

const issuerFrom = (options: TestKeysOptions = { publicUrl: '' }) => {
  refuseUnknown(options, keyNames, 'createTestKeys')
  const { publicUrl } = options
  if (typeof publicUrl !== 'string' || !/^https?:\/\//.test(publicUrl))
    throw new TypeError('publicUrl: must be the URL of the service, as your verifier has it')
  return publicUrl.replace(/\/+$/, '')
}

/** Waits, and rejects if the signal aborts before. The timer must not keep a finished test running. */
const pause = (milliseconds: number, signal: AbortSignal | null | undefined) =>
  new Promise<void>((resolve, reject) => {
    const timer: unknown = setTimeout(resolve, milliseconds)
    if (typeof timer === 'object' && timer && 'unref' in timer && typeof timer.unref === 'function') timer.unref()
    signal?.addEventListener('abort', () => reject(new Error('The request was given up')), { once: true })
  })

/** Answers as the service does while no session ends: the whole list at once, and no news after as many seconds as it was asked to wait. */
const noEndedSessions = async (query: URLSearchParams, signal: AbortSignal | null | undefined) => {
  const isWhole = !query.has('after')
  if (!isWhole) await pause(Number(query.get('wait')) * 1000, signal)
  return Response.json({ entries: [], cursor: 'none', complete: isWhole })
}

export type TestKeysOptions = { readonly publicUrl: string }
export type TestKeys = Awaited<ReturnType<typeof createTestKeys>>

/**
 * Keys without a running Latchkey, for unit tests of code behind a guard. Give `fetch` to the verifier, and the cookie to the request.
 * There is no service, so tokens cannot be renewed and users cannot sign in.
 */
export const createTestKeys = async (options: TestKeysOptions) => {
  const issuer = issuerFrom(options)
  const keyAlgorithm = { name: 'ECDSA', namedCurve: 'P-256' }
  const { publicKey, privateKey } = await crypto.subtle.generateKey(keyAlgorithm, true, ['sign', 'verify'])
  const kid = 'test-key'
  const { kty, crv, x, y } = await crypto.subtle.exportKey('jwk', publicKey)
  const keySet = { keys: [{ kty, crv, x, y, kid, alg: 'ES256', use: 'sig' }] }

  const token = async (options: TestTokenOptions = {}) => {
    refuseWrong(options)
    const header = encodeText(JSON.stringify({ alg: 'ES256', typ: 'at+jwt', kid }))
    const signed = `${header}.${encodeText(JSON.stringify(claimsOf(issuer, options)))}`
    const signatureAlgorithm = { name: 'ECDSA', hash: 'SHA-256' }
    const signature = await crypto.subtle.sign(signatureAlgorithm, privateKey, new TextEncoder().encode(signed))
    const signedToken = `${signed}.${encode(new Uint8Array(signature))}`
    if (signedToken.length > longestToken)
      throw new TypeError(`The token has more than ${longestToken} characters: use shorter names or fewer groups`)
    return signedToken
  }

  return {
    /**
     * For `createVerifier({ publicUrl, jwks: true, fetch })`. With `revocations`, no session has ended, whatever the service key is.
     * Every other request gets 503.
     */
    fetch: async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
      const { pathname, searchParams } = new URL(input instanceof Request ? input.url : input)
      if (pathname.endsWith('/.well-known/jwks.json'))
        return Response.json(keySet, { headers: { 'cache-control': 'max-age=300' } })
      if (pathname.endsWith('/api/service/revocations')) return noEndedSessions(searchParams, init?.signal)
      return Response.json({ code: 'unavailable' }, { status: 503 })
    },
    /** The key set that `/.well-known/jwks.json` would publish, for a test in another language. */
    keySet,
    token,
    /** The header of a request, such as `access_token=eyJ…`. */
    cookie: async (options?: TestTokenOptions) => `access_token=${await token(options)}`,
  }
}
