import { randomBytes } from 'node:crypto'
import { inGroups, withoutGroups } from '../contract/factors.js'

const codeCount = 10

/** Crockford's base32, which has no I, L, O and U. Each character has five bits. */
const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
/** 12 characters have 60 bits. */
const codeLength = 12

const newCode = () => Array.from(randomBytes(codeLength), (byte) => alphabet[byte % alphabet.length]).join('')

/** Ten codes, in groups of four so that they can be read and copied. */
export const newRecoveryCodes = () => Array.from({ length: codeCount }, () => inGroups(newCode()))

/** Replaces characters that are often misread from a screen or from paper by those that codes have. */
const withoutLookalikes = (code: string) => code.replaceAll('O', '0').replaceAll(/[IL]/g, '1').replaceAll('U', 'V')

/** Reads a code that a user typed or pasted. Its form says which kind it is. Undefined if it has the form of none. */
export const readCode = (typed: string) => {
  const text = withoutGroups(typed)
  if (/^\d{6}$/.test(text)) return { method: 'otp' as const, code: text }
  if (text.length === codeLength) return { method: 'rec' as const, code: withoutLookalikes(text) }
  return isEarlierCode(text) ? { method: 'rec' as const, code: text } : undefined
}

/** A recovery code from earlier releases: 24 characters of RFC 4648's base32. */
export const isEarlierCode = (code: string) => /^[A-Z2-7]{24}$/.test(code)
