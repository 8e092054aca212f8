import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'

/** 256 random bits for anything that must not be guessed, in an alphabet that is safe in cookies and URLs. */
export const randomToken = () => randomBytes(32).toString('base64url')

/** The hash that a store keeps instead of a random value. A fast hash is enough, because 256 random bits cannot be guessed. */
export const fingerprint = (value: string) => createHash('sha256').update(value).digest()

export const equalInConstantTime = (left: Uint8Array, right: Uint8Array) =>
  left.length === right.length && timingSafeEqual(left, right)
