import { createSecretKey, hash, hkdfSync, type KeyObject, randomBytes, timingSafeEqual } from 'node:crypto'

export type Key = KeyObject

/** 256 random bits for anything that must not be guessed, in an alphabet that is safe in cookies and URLs. */
export const randomToken = () => randomBytes(32).toString('base64url')

/** The hash that a store keeps instead of a random value. A fast hash is enough, because 256 random bits cannot be guessed. */
export const fingerprint = (value: string | Uint8Array) => hash('sha256', value, 'buffer')

export const equalInConstantTime = (left: Uint8Array, right: Uint8Array) =>
  left.length === right.length && timingSafeEqual(left, right)

/**
 * One secret serves several purposes, each with a key of its own (HKDF, RFC 5869). Neither the secret nor the key for another purpose
 * can be computed from a key. It is a key object, because Node 24 needs 38 µs for a MAC with plain bytes, and 6 µs with such an object.
 */
export const deriveKey = (secret: string, purpose: string) =>
  createSecretKey(Buffer.from(hkdfSync('sha256', secret, '', purpose, 32)))

/** A name for the key of this purpose. It says nothing about the secret. */
export const keyId = (secret: string, purpose: string) =>
  deriveKey(secret, purpose).export().toString('base64url').slice(0, 8)
