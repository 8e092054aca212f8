import { randomBytes } from 'node:crypto'
import { inGroups, withoutGroups } from '../../contract/code-groups.js'

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
  return text.length === codeLength ? { method: 'rec' as const, code: withoutLookalikes(text) } : undefined
}
