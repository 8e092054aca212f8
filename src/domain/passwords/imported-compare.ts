import { createCipheriv, scryptSync } from 'node:crypto'
import { equalInConstantTime } from '../../lib/random.js'
import type { ImportedHash, ScryptHash } from './imported-hashes.js'

/** https://github.com/firebase/scrypt: the derived key encrypts the project's signer key, and the result is the hash. */
const firebaseKey = (derived: Buffer, signerKey: Buffer) => {
  const cipher = createCipheriv('aes-256-ctr', derived, Buffer.alloc(16))
  return Buffer.concat([cipher.update(signerKey), cipher.final()])
}

const scryptMatches = (password: string, { N, r, p, salt, key, isNormalised, signerKey }: ScryptHash) => {
  const text = isNormalised ? password.normalize('NFKC') : password
  // Node's own limit is 32 MiB. What is stored was checked against ours.
  const maxmem = 128 * r * (N + p + 2) + 1024
  const derived = scryptSync(text, salt, signerKey ? 32 : key.length, { N, r, p, maxmem })
  return equalInConstantTime(signerKey ? firebaseKey(derived, signerKey) : derived, key)
}

export const importedMatches = async (password: string, hash: ImportedHash) => {
  if (hash.algorithm === 'scrypt') return scryptMatches(password, hash)
  const { argon2Matches } = await import('./argon2.js')
  return argon2Matches(password, hash)
}
