import bcrypt from 'bcrypt'
import { yieldToOthers } from '../platform/threads.js'
import { importedMatches } from './imported-compare.js'
import { readImportedHash } from './imported-hashes.js'

yieldToOthers()

const lowestCost = 4

type Comparison = { password: string; hash: string; cost: number }

export const hash = ({ password, cost }: { password: string; cost: number }) => bcrypt.hashSync(password, cost)

/**
 * A failed comparison with a hash that is cheaper than `cost` goes on until it has done the work of `cost`, so that it takes as long as a
 * comparison with a decoy. Each step of cost doubles the work, and 2^c + (2^c + 2^(c+1) + … + 2^(cost-1)) = 2^cost.
 */
export const compare = ({ password, hash: stored, cost }: Comparison) => {
  // The library knows $2a$ and $2b$. PHP and other systems write $2y$ for the same algorithm.
  if (bcrypt.compareSync(password, stored.replace(/^\$2y\$/, '$2b$'))) return true
  for (let step = bcrypt.getRounds(stored); step < cost; step += 1) bcrypt.hashSync(password, step)
  return false
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
export const compareImported = async ({ password, hash: stored, cost }: Comparison) => {
  const beganAt = performance.now()
  const importedHash = readImportedHash(stored)
  if (importedHash && (await importedMatches(password, importedHash))) return true
  padTime(password, cost, beganAt)
  return false
}
