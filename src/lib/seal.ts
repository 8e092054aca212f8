import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import type { Static, TSchema } from 'typebox'
import { Check } from 'typebox/schema'
import { OperatorError } from './operator-error.js'
import type { Key } from './random.js'

export type Seal = {
  /** With `boundTo`, the sealed text opens only together with the same words, such as the name of its row. */
  seal(text: string, boundTo?: string): string
  /** The text. It is undefined if `sealed` was changed or cut, bound to something else, or sealed with a key that was removed. */
  open(sealed: string, boundTo?: string): string | undefined
}

/** The first byte of a sealed text says how it is sealed, so that a later version can change the algorithm and still open old texts. */
const version = 1
const cipher = 'aes-256-gcm'
const nonceLength = 12
const tagLength = 16
const base64urlPattern = /^[A-Za-z0-9_-]+$/

/** The data that is authenticated together with the text. */
const contextOf = (boundTo: string) => Buffer.from(`${version} ${boundTo}`, 'utf8')

const openWith = (key: Key, boundTo: string, bytes: Buffer) => {
  const decipher = createDecipheriv(cipher, key, bytes.subarray(0, nonceLength), { authTagLength: tagLength })
  decipher.setAAD(contextOf(boundTo))
  decipher.setAuthTag(bytes.subarray(-tagLength))
  try {
    return Buffer.concat([decipher.update(bytes.subarray(nonceLength, -tagLength)), decipher.final()]).toString('utf8')
  } catch {
    return undefined
  }
}

/**
 * Encrypts and authenticates text that others may see or change, such as a cookie or a stored row. The first key seals and every key
 * opens, so that a secret can be replaced while older sealed texts are still in use. Each purpose has its own keys (`lib/random`), and
 * `boundTo` is authenticated together with the text.
 */
export const createSeal = (keys: readonly Key[]): Seal => {
  const seal = (text: string, boundTo = '') => {
    const [newest] = keys
    // Most commands seal nothing, so they may run without the secret.
    if (!newest) throw new OperatorError('JWT_SECRET is missing: it encrypts what is stored. Nothing was changed.')
    const nonce = randomBytes(nonceLength)
    const encipher = createCipheriv(cipher, newest, nonce, { authTagLength: tagLength })
    encipher.setAAD(contextOf(boundTo))
    const ciphertext = [encipher.update(text, 'utf8'), encipher.final()]
    return Buffer.concat([Buffer.of(version), nonce, ...ciphertext, encipher.getAuthTag()]).toString('base64url')
  }

  const open = (sealed: string, boundTo = '') => {
    if (!base64urlPattern.test(sealed)) return undefined
    const bytes = Buffer.from(sealed, 'base64url')
    // The decoder accepts bits and lengths that no encoder writes. They are refused, so that a sealed text has exactly one encoded form.
    if (bytes.length < 1 + nonceLength + tagLength || bytes.toString('base64url') !== sealed) return undefined
    if (bytes[0] !== version) return undefined
    for (const key of keys) {
      const text = openWith(key, boundTo, bytes.subarray(1))
      if (text !== undefined) return text
    }
    return undefined
  }

  return { seal, open }
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/**
 * Values that are stored outside of the program as sealed JSON, such as cookies. The seal proves that we wrote them, but another
 * release may have written another shape. A value that does not match the schema opens as undefined.
 */
export const createSealedJson = <Schema extends TSchema>(seal: Seal, schema: Schema) => ({
  seal: (value: Static<Schema>) => seal.seal(JSON.stringify(value)),
  open: (sealed: string): Static<Schema> | undefined => {
    const text = seal.open(sealed)
    const value = text === undefined ? undefined : parse(text)
    return Check(schema, value) ? value : undefined
  },
})
