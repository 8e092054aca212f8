import { readCookieHeader } from '#contract/cookie-header.js'
import { cookieLine } from './cookies.js'
import { decodeBase64Url, encodeBase64Url, isObject, utf8 } from './token-text.js'

/** A sign-in that has begun in a browser, and is finished by the callback with the same `state`. */
export type Attempt = {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
  readonly returnTo: string
}

/** In seconds. */
const lifetime = 600
/** Each tab may have a sign-in of its own. A page that opens more of them must not make the cookie header too long. */
const maxAttempts = 5

const stateShape = /^[\w-]{20,128}$/
const valueShape = /^[\w-]{40,3000}$/
const algorithm = 'AES-GCM'
const ivLength = 12

/** Every process that has the secret can open what another has sealed. Without a secret, only this process can. */
const createKey = async (secret: string | undefined) => {
  const material = secret === undefined ? crypto.getRandomValues(new Uint8Array(32)) : utf8(secret)
  const base = await crypto.subtle.importKey('raw', material, 'HKDF', false, ['deriveKey'])
  const derivation = { name: 'HKDF', hash: 'SHA-256', salt: new Uint8Array(), info: utf8('openid attempt') }
  return crypto.subtle.deriveKey(derivation, base, { name: algorithm, length: 256 }, false, ['encrypt', 'decrypt'])
}

type Options = { secret: string | undefined; isSecure: boolean; now: () => number }

/** Keeps each attempt in a sealed cookie of its browser, named after the state. */
export const createAttempts = ({ secret, isSecure, now }: Options) => {
  const prefix = `${isSecure ? '__Host-' : ''}openid_attempt_`
  const nameFor = (state: string) => prefix + state.slice(0, 16)
  const clear = (name: string) => cookieLine(name, '', { seconds: 0, isSecure })
  let key: ReturnType<typeof createKey> | undefined
  const getKey = () => {
    key ??= createKey(secret)
    return key
  }

  const seal = async (attempt: Attempt) => {
    const iv = crypto.getRandomValues(new Uint8Array(ivLength))
    const content = utf8(JSON.stringify({ ...attempt, until: now() + lifetime * 1_000 }))
    const sealed = new Uint8Array(await crypto.subtle.encrypt({ name: algorithm, iv }, await getKey(), content))
    return encodeBase64Url(Uint8Array.from([...iv, ...sealed]))
  }

  const unseal = async (value: string): Promise<Attempt | undefined> => {
    try {
      const bytes = decodeBase64Url(value)
      const options = { name: algorithm, iv: bytes.slice(0, ivLength) }
      const opened = await crypto.subtle.decrypt(options, await getKey(), bytes.slice(ivLength))
      const { until, ...attempt } = JSON.parse(new TextDecoder().decode(opened))
      return until > now() && isObject(attempt) ? (attempt as Attempt) : undefined
    } catch {
      return undefined
    }
  }

  return {
    /** The `Set-Cookie` lines that keep the attempt. If there are too many others, they are given up. */
    begin: async (attempt: Attempt, cookies: string | undefined) => {
      const others = [...readCookieHeader(cookies ?? '').values.keys()].filter((name) => name.startsWith(prefix))
      const givenUp = others.length < maxAttempts ? [] : others.map(clear)
      return [...givenUp, cookieLine(nameFor(attempt.state), await seal(attempt), { seconds: lifetime, isSecure })]
    },

    /** The attempt of this browser with this state, and the `Set-Cookie` lines that end it. */
    finish: async (state: string | null, cookies: string | undefined) => {
      if (state === null || !stateShape.test(state)) return { attempt: undefined, setCookies: [] }
      const name = nameFor(state)
      const value = readCookieHeader(cookies ?? '').values.get(name) ?? ''
      const attempt = valueShape.test(value) ? await unseal(value) : undefined
      return { attempt: attempt?.state === state ? attempt : undefined, setCookies: [clear(name)] }
    },
  }
}
