import { createCipheriv, scryptSync } from 'node:crypto'
import bcrypt from 'bcrypt'
import { equalInConstantTime } from '../lib/random.js'
import { yieldToOthers } from '../platform/threads.js'
import { type Comparison, compareTogether } from './bcrypt-together.js'
import { type ImportedHash, readImportedHash, type ScryptHash } from './hashes.js'

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

const matchesImported = async ({ password, hash: stored }: Comparison) => {
  const importedHash = readImportedHash(stored)
  return importedHash !== undefined && (await importedMatches(password, importedHash))
}

yieldToOthers()

const lowestCost = 4

type CostlyComparison = Comparison & { cost: number }

export const hash = ({ password, cost }: { password: string; cost: number }) => bcrypt.hashSync(password, cost)

/**
 * A failed comparison with a hash that is cheaper than `cost` goes on until it has done the work of `cost`, so that it takes as long as a
 * comparison with a decoy. Each step of cost doubles the work, and 2^c + (2^c + 2^(c+1) + … + 2^(cost-1)) = 2^cost.
 */
export const compare = ({ password, hash: stored, cost }: CostlyComparison) => {
  // The library knows $2a$ and $2b$. PHP and other systems write $2y$ for the same algorithm.
  if (bcrypt.compareSync(password, stored.replace(/^\$2y\$/, '$2b$'))) return true
  for (let step = bcrypt.getRounds(stored); step < cost; step += 1) bcrypt.hashSync(password, step)
  return false
}

/** WebAssembly cannot run with `node --jitless`, or where the address space is limited. Then the library compares one after the other. */
let canCompareTogether = true

const compareAll = (comparisons: readonly Comparison[], cost: number): boolean[] => {
  try {
    if (canCompareTogether) return compareTogether(comparisons, cost)
  } catch {
    canCompareTogether = false
  }
  return comparisons.map((comparison) => compare({ ...comparison, cost }))
}

/** With the hash of another system, `bcrypt` is a comparison with a decoy. */
export type AskedComparison = { bcrypt: Comparison; imported: Comparison | undefined }

/**
 * Compares several at once. One with the hash of another system takes part with its decoy: if it came alone, the others would be done
 * sooner, and an attacker who sends several names at once would know it by their time.
 */
export const compareSeveral = async ({ comparisons, cost }: { comparisons: AskedComparison[]; cost: number }) => {
  const importedResults: (boolean | undefined)[] = []
  for (const { imported } of comparisons) importedResults.push(imported && (await matchesImported(imported)))
  const results = compareAll(
    comparisons.map(({ bcrypt }) => bcrypt),
    cost,
  )
  return results.map((result, index) => importedResults[index] ?? result)
}

/**
 * Computes bcrypt until the time since `beganAt` is about what a comparison of `cost` takes. A sample measures how fast this machine is.
 * Then each cheaper cost is computed if it still fits.
 */
const padTime = (password: string, cost: number, beganAt: number) => {
  const sampleCost = Math.max(lowestCost, cost - 4)
  const sampleBeganAt = performance.now()
  bcrypt.hashSync(password, sampleCost)
  const timeOfCostZero = (performance.now() - sampleBeganAt) / 2 ** sampleCost
  for (let step = cost - 1; step >= lowestCost; step -= 1)
    if (performance.now() - beganAt + timeOfCostZero * 2 ** step <= timeOfCostZero * 2 ** cost)
      bcrypt.hashSync(password, step)
}

/**
 * A failed comparison with the cheaper hash of another system takes as long as bcrypt. One with a more expensive hash takes its own time.
 */
export const compareImported = async ({ cost, ...comparison }: CostlyComparison) => {
  const beganAt = performance.now()
  if (await matchesImported(comparison)) return true
  padTime(comparison.password, cost, beganAt)
  return false
}
