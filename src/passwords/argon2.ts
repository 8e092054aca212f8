import { argon2id } from 'hash-wasm'
import { equalInConstantTime } from '../lib/random.js'
import type { Argon2Hash } from './hashes.js'

/** Argon2 has its own file, which is loaded with the first such hash, because few threads ever need it. */
export const argon2Matches = async (password: string, { memory, passes, lanes, salt, key }: Argon2Hash) => {
  // The library throws for an empty password, which no system accepts anyway.
  if (password === '') return false
  const parameters = { memorySize: memory, iterations: passes, parallelism: lanes, hashLength: key.length }
  return equalInConstantTime(await argon2id({ password, salt, ...parameters, outputType: 'binary' }), key)
}
