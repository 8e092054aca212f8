import { createHmac, randomInt } from 'node:crypto'

const alphabet = './ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
const bytesThatBcryptReads = 72

/** The cost that a stored hash was made with; nothing when it is no bcrypt hash. */
export const costOf = (hash: string): number | undefined => {
  const cost = Number(/^\$2[aby]\$(0[4-9]|[12]\d|3[01])\$[./A-Za-z0-9]{53}$/.exec(hash)?.[1])
  return Number.isNaN(cost) ? undefined : cost
}

/** A hash of no password in particular. It need not be computed: comparing with it takes as long, and nothing matches. */
export const createDecoy = (cost: number) => {
  const rest = Array.from({ length: 53 }, () => alphabet[randomInt(alphabet.length)]).join('')
  return `$2b$${String(cost).padStart(2, '0')}$${rest}`
}

/**
 * bcrypt drops what comes after 72 bytes without a word. A longer password is condensed to 64 characters first; up to 72
 * bytes it stays as it is, so that hashes of other systems go on working. The label keeps these values from being of use
 * anywhere else, and base64 keeps zero bytes out, where bcrypt would stop.
 */
export const condensed = (password: string) =>
  Buffer.byteLength(password) <= bytesThatBcryptReads
    ? password
    : createHmac('sha384', 'latchkey long password').update(password).digest('base64')
