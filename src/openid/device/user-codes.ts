import { randomInt } from 'node:crypto'
import { minutes } from '../../lib/durations.js'

/** Without vowels, so that no code is a word, and without digits, which look like letters (RFC 8628, 6.1). */
const alphabet = 'BCDFGHJKLMNPQRSTVWXZ'
const length = 8
const shape = new RegExp(`^[${alphabet}]{${length}}$`)

/** There are 20^8 codes, which are 2.56 * 10^10. How long guessing one takes is in docs/decisions.md. */
export const newUserCode = () => Array.from({ length }, () => alphabet[randomInt(alphabet.length)] ?? '').join('')

/** The code in the form that is compared: in capitals, without dashes and spaces. Undefined if the text is no code. */
export const readUserCode = (text: string) => {
  const code = text.replaceAll(/[\s.·_\p{Pd}]/gu, '').toUpperCase()
  return shape.test(code) ? code : undefined
}

/** The code in the form that devices and pages show: `WDJB-MJHT`. */
export const shownUserCode = (code: string) => `${code.slice(0, length / 2)}-${code.slice(length / 2)}`

export const deviceRequestLifetime = 10 * minutes

/** The seconds between two polls of a device. */
export const pollInterval = 5
