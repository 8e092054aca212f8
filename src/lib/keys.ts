import { hkdfSync } from 'node:crypto'

/**
 * One secret serves several purposes, each with a key of its own (HKDF, RFC 5869): from one key neither the secret nor the
 * key for another purpose can be computed.
 */
export const deriveKey = (secret: string, purpose: string) => Buffer.from(hkdfSync('sha256', secret, '', purpose, 32))
