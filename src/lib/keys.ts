import { hkdfSync } from 'node:crypto'

/**
 * One secret serves several purposes, each with a key of its own (HKDF, RFC 5869). Neither the secret nor the key for another purpose
 * can be computed from a key.
 */
export const deriveKey = (secret: string, purpose: string) => Buffer.from(hkdfSync('sha256', secret, '', purpose, 32))
