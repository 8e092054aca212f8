import { createHmac, randomBytes } from 'node:crypto'
import { equalInConstantTime } from '../lib/random.js'

/** RFC 6238 with the values that every authenticator app knows: SHA-1, 6 digits, 30 seconds. */
const period = 30
const digits = 6

/** The clock of a phone may be one step behind or ahead. */
const toleratedDifferences = [0, -1, 1]

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** Base32 of RFC 4648 without padding. Each character has five bits. */
export const base32 = (bytes: Uint8Array) => {
  const bits = Array.from(bytes, (byte) => byte.toString(2).padStart(8, '0')).join('')
  return (bits.match(/.{1,5}/g) ?? []).map((five) => alphabet[Number.parseInt(five.padEnd(5, '0'), 2)]).join('')
}

export const fromBase32 = (text: string) => {
  const bits = Array.from(text, (character) => alphabet.indexOf(character).toString(2).padStart(5, '0')).join('')
  return Buffer.from((bits.match(/.{8}/g) ?? []).map((eight) => Number.parseInt(eight, 2)))
}

/** A secret of 160 bits, in base32. */
export const newSecret = () => base32(randomBytes(20))

export const stepAt = (seconds: number) => Math.floor(seconds / period)

export const codeOf = (secret: string, step: number) => {
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(step))
  const hash = createHmac('sha1', fromBase32(secret)).update(counter).digest()
  // RFC 4226, 5.3: the last four bits say where the 31 bits of the code begin.
  const offset = (hash.at(-1) ?? 0) & 0x0f
  const number = hash.readUInt32BE(offset) & 0x7fff_ffff
  return String(number % 10 ** digits).padStart(digits, '0')
}

/**
 * The step that a code belongs to, near the given time in seconds since 1970. All tolerated steps are compared, so that the time of the
 * answer shows nothing.
 */
export const stepOfCode = (secret: string, code: string, seconds: number) => {
  const currentStep = stepAt(seconds)
  const steps = toleratedDifferences.map((difference) => currentStep + difference).filter((step) => step >= 0)
  const matchingSteps = steps.filter((step) =>
    equalInConstantTime(Buffer.from(codeOf(secret, step)), Buffer.from(code)),
  )
  return matchingSteps[0]
}

/** The content of the QR code. Apps show the issuer and the account. */
export const otpauthUri = (secret: string, { issuer, account }: { issuer: string; account: string }) => {
  const name = encodeURIComponent(issuer)
  const label = encodeURIComponent(account)
  return `otpauth://totp/${name}:${label}?secret=${secret}&issuer=${name}&algorithm=SHA1&digits=${digits}&period=${period}`
}
