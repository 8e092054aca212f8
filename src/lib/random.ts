import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'

/** 256 bits for anything that must not be guessed, in an alphabet that is safe in cookies and addresses. */
export const randomToken = () => randomBytes(32).toString('base64url')

/** What a store keeps of a random value. A fast hash is enough, because 256 random bits cannot be guessed. */
export const fingerprint = (value: string) => createHash('sha256').update(value).digest()

export const sameBytes = (left: Uint8Array, right: Uint8Array) =>
  left.length === right.length && timingSafeEqual(left, right)
