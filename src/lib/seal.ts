import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'

export type Seal = {
  seal(text: string): string
  /** The text; undefined if it was changed or cut, sealed for another purpose, or with a key that was removed. */
  open(sealed: string): string | undefined
}

const cipher = 'aes-256-gcm'
const nonceLength = 12
const tagLength = 16
const shape = /^[A-Za-z0-9_-]+$/

const openWith = (key: Buffer, bound: Buffer, bytes: Buffer) => {
  const decipher = createDecipheriv(cipher, key, bytes.subarray(0, nonceLength), { authTagLength: tagLength })
  decipher.setAAD(bound)
  decipher.setAuthTag(bytes.subarray(-tagLength))
  try {
    return Buffer.concat([decipher.update(bytes.subarray(nonceLength, -tagLength)), decipher.final()]).toString('utf8')
  } catch {
    return undefined
  }
}

/**
 * Encrypts and authenticates text that others may see or change: a cookie, a stored row. The first key seals and every
 * key opens, so that a secret can be replaced while older sealed texts are still in use. The purpose is authenticated too:
 * what was sealed as a cookie never opens as a mail, even with the same key.
 */
export const createSeal = (keys: readonly Buffer[], purpose = ''): Seal => {
  const [newest] = keys
  if (!newest) throw new Error('A seal needs at least one key.')
  const bound = Buffer.from(purpose, 'utf8')

  const seal = (text: string) => {
    const nonce = randomBytes(nonceLength)
    const encipher = createCipheriv(cipher, newest, nonce, { authTagLength: tagLength })
    encipher.setAAD(bound)
    const hidden = [encipher.update(text, 'utf8'), encipher.final()]
    return Buffer.concat([nonce, ...hidden, encipher.getAuthTag()]).toString('base64url')
  }

  const open = (sealed: string) => {
    if (!shape.test(sealed)) return undefined
    const bytes = Buffer.from(sealed, 'base64url')
    // The decoder accepts bits and lengths that no encoder writes. Here, one text has exactly one encoded form.
    if (bytes.length < nonceLength + tagLength || bytes.toString('base64url') !== sealed) return undefined
    for (const key of keys) {
      const text = openWith(key, bound, bytes)
      if (text !== undefined) return text
    }
    return undefined
  }

  return { seal, open }
}
