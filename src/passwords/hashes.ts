import { createHmac, randomInt } from 'node:crypto'

const alphabet = './ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'
const bytesThatBcryptReads = 72

/** The cost of a stored hash. Undefined if it is no bcrypt hash. */
export const costOf = (hash: string): number | undefined => {
  const cost = Number(/^\$2[aby]\$(0[4-9]|[12]\d|3[01])\$[./A-Za-z0-9]{53}$/.exec(hash)?.[1])
  return Number.isNaN(cost) ? undefined : cost
}

/** A random hash that matches no password. Comparing with it takes as long as with a real hash. */
export const createDecoy = (cost: number) => {
  const rest = Array.from({ length: 53 }, () => alphabet[randomInt(alphabet.length)]).join('')
  return `$2b$${String(cost).padStart(2, '0')}$${rest}`
}

/**
 * bcrypt ignores everything after 72 bytes. A longer password is first hashed to 64 characters. A shorter one stays as it is, so that
 * hashes of other systems keep working. The label makes the hashed texts useless elsewhere, and base64 avoids zero bytes, at which bcrypt
 * would stop.
 */
export const condensed = (password: string) =>
  Buffer.byteLength(password) <= bytesThatBcryptReads
    ? password
    : createHmac('sha384', 'latchkey long password').update(password).digest('base64')
