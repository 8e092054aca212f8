import { decodeBase64Url, encodeBase64Url, type TokenText, utf8 } from './token-text.js'

/** A key that is or was in use. Two keys are the same only if they are the same object. */
export type VerifyingKey = { readonly id: string; readonly key: CryptoKey }

type KeyRefusal = 'bad_signature' | 'unknown_key' | 'unavailable'

/** The keys of one algorithm: made from secrets (`secret-keys`), or published by the service (`published-keys`). */
export type Keys = {
  /** The key that has signed the token, or why the token is refused. */
  check(token: TokenText): Promise<VerifyingKey | KeyRefusal>
  /** Whether this key is still in use. It may have been withdrawn since it was found, also during a check. */
  holds(key: VerifyingKey): boolean
  /** Asks for the current keys if those that are known are too old. */
  refresh(): Promise<void>
  areLoaded(): boolean
  /** The problem that keeps every token from being accepted until a setting is changed. */
  lastingProblem(): string | undefined
}

const shortestSecret = 64

/** 32 bytes. Two bits of the last character are not used: only the spelling with both bits zero is accepted. */
const signatureShape = /^[\w-]{42}[AEIMQUYcgkosw048]$/

/** The list of `JWT_SECRET`, as the service reads it: the first secret signs, all of them verify. */
const readSecrets = (given: string | readonly string[]) => {
  const secrets = (typeof given === 'string' ? given.split(',') : [...given]).map((secret) => secret.trim())
  for (const secret of secrets) {
    if (secret.length < shortestSecret)
      throw new TypeError(`secret: each secret must have at least ${shortestSecret} characters`)
    // If a published key were used as a secret, anyone could sign tokens.
    if (/^-----BEGIN|"kty"/.test(secret)) throw new TypeError('secret: this is a key and no secret. Use jwks instead')
  }
  return secrets
}

/** The id by which the service names a secret. The secret cannot be computed from it. */
const keyIdOf = async (secret: string) => {
  const key = await crypto.subtle.importKey('raw', utf8(secret), 'HKDF', false, ['deriveBits'])
  const derivation = { name: 'HKDF', hash: 'SHA-256', salt: new Uint8Array(), info: utf8('key id') }
  return encodeBase64Url(new Uint8Array(await crypto.subtle.deriveBits(derivation, key, 256))).slice(0, 8)
}

const headerOf = (kid: string) => encodeBase64Url(utf8(JSON.stringify({ alg: 'HS256', typ: 'at+jwt', kid })))

const importSecret = async (secret: string): Promise<VerifyingKey> => ({
  id: headerOf(await keyIdOf(secret)),
  key: await crypto.subtle.importKey('raw', utf8(secret), { name: 'HMAC', hash: 'SHA-256' }, false, ['verify']),
})

/**
 * Accepts HS256 and nothing else. The service writes exactly one header for each secret, so the text of the header selects the
 * key: a token with another algorithm or another type has no key here, and its header is never parsed.
 */
export const createSecretKeys = (given: string | readonly string[]): Keys => {
  const secrets = readSecrets(given)
  let keys: Promise<Map<string, VerifyingKey>> | undefined
  const load = () => {
    keys ??= Promise.all(secrets.map(importSecret)).then((all) => new Map(all.map((each) => [each.id, each])))
    return keys
  }
  return {
    check: async ({ header, signed, signature }) => {
      const found = (await load()).get(header)
      if (!found) return 'unknown_key'
      if (!signatureShape.test(signature)) return 'bad_signature'
      const isGood = await crypto.subtle.verify('HMAC', found.key, decodeBase64Url(signature), utf8(signed))
      return isGood ? found : 'bad_signature'
    },
    holds: () => true,
    refresh: async () => {},
    areLoaded: () => true,
    lastingProblem: () => undefined,
  }
}
