import { argon2id } from 'hash-wasm'
import { equalInConstantTime } from '../../lib/random.js'
import type { Argon2Hash } from './imported-hashes.js'

/** A file of its own, because few threads ever need it: it is loaded with the first such hash. */
export const argon2Matches = async (password: string, { memory, passes, lanes, salt, key }: Argon2Hash) => {
  // The library throws for it, and no system takes it.
  if (password === '') return false
  const parameters = { memorySize: memory, iterations: passes, parallelism: lanes, hashLength: key.length }
  return equalInConstantTime(await argon2id({ password, salt, ...parameters, outputType: 'binary' }), key)
}
