import { createHmac } from 'node:crypto'
import { sameBytes } from '../../lib/random.js'

const letters = 'ABCDEFGHJKMNPQRSTUVWXYZ23456789'
const bytesOfLetter = 4

/**
 * The short code of a registration, made of its id under a key of ours: every mail carries the same code, and the
 * database, which holds none, does not give it away.
 */
export const codeOf = (key: Buffer, registrationId: string) => {
  const digest = createHmac('sha256', key).update(registrationId).digest()
  const starts = Array.from({ length: digest.length / bytesOfLetter }, (_, index) => index * bytesOfLetter)
  return starts.map((start) => letters[digest.readUInt32BE(start) % letters.length]).join('')
}

/** People type codes in lower case and with the dash; both mean the same code. */
export const isCodeOf = (keys: readonly Buffer[], registrationId: string, typed: string) => {
  const given = Buffer.from(typed.toUpperCase().replaceAll(/[^A-Z0-9]/g, ''))
  return keys.some((key) => sameBytes(Buffer.from(codeOf(key, registrationId)), given))
}
