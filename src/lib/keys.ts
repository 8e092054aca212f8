import { hkdfSync } from 'node:crypto'

/**
 * One secret serves several purposes through keys that say nothing about each other (HKDF, RFC 5869): whoever learns
 * one of them can neither compute the secret nor a key for another purpose.
 */
export const deriveKey = (secret: string, purpose: string) => Buffer.from(hkdfSync('sha256', secret, '', purpose, 32))
