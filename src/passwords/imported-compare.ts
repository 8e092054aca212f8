import { createCipheriv, scryptSync } from 'node:crypto'
import { equalInConstantTime } from '../lib/random.js'
import type { ImportedHash, ScryptHash } from './imported-hashes.js'

/** See https://github.com/firebase/scrypt. The derived key encrypts the project's signer key, and the result is the hash. */
const firebaseKey = (derivedKey: Buffer, signerKey: Buffer) => {
  const cipher = createCipheriv('aes-256-ctr', derivedKey, Buffer.alloc(16))
  return Buffer.concat([cipher.update(signerKey), cipher.final()])
}

const scryptMatches = (password: string, { N, r, p, salt, key, isNormalised, signerKey }: ScryptHash) => {
  const text = isNormalised ? password.normalize('NFKC') : password
  // The default limit of Node is 32 MiB. Stored hashes were checked against our own limit.
  const maxmem = 128 * r * (N + p + 2) + 1024
  const derivedKey = scryptSync(text, salt, signerKey ? 32 : key.length, { N, r, p, maxmem })
  return equalInConstantTime(signerKey ? firebaseKey(derivedKey, signerKey) : derivedKey, key)
}

export const importedMatches = async (password: string, hash: ImportedHash) => {
  if (hash.algorithm === 'scrypt') return scryptMatches(password, hash)
  const { argon2Matches } = await import('./argon2.js')
  return argon2Matches(password, hash)
}
