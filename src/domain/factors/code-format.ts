import { randomBytes } from 'node:crypto'
import { base32 } from './totp.js'

const codes = 10

/** 120 bits: 24 characters. */
const newCode = () => base32(randomBytes(15))

/** Ten codes, in groups of four so that they can be read and copied. */
export const newRecoveryCodes = () => Array.from({ length: codes }, () => inGroups(newCode()))

const inGroups = (code: string) => (code.match(/.{4}/g) ?? []).join('-')

/** What a user typed or pasted, told apart by its shape; undefined if it has neither. */
export const readCode = (typed: string) => {
  const text = typed.replaceAll(/[\s-]/g, '').toUpperCase()
  if (/^\d{6}$/.test(text)) return { method: 'otp' as const, code: text }
  return /^[A-Z2-7]{24}$/.test(text) ? { method: 'rec' as const, code: text } : undefined
}
