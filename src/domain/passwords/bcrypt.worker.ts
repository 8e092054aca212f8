import bcrypt from 'bcrypt'
import { yieldToOthers } from '../../platform/workers/priority.js'
import { importedMatches } from './imported-compare.js'
import { readImportedHash } from './imported-hashes.js'

yieldToOthers()

const lowestCost = 4

type Comparison = { password: string; hash: string; cost: number }

export const hash = ({ password, cost }: { password: string; cost: number }) => bcrypt.hashSync(password, cost)

/**
 * A failed comparison with a cheaper hash than `cost` continues until it has done the work of `cost`, so that it takes as
 * long as one with a decoy: each step of cost doubles the work, and 2^c + (2^c + 2^(c+1) + … + 2^(cost-1)) = 2^cost.
 */
export const compare = ({ password, hash: stored, cost }: Comparison) => {
  // The library knows $2a$ and $2b$. PHP and others write $2y$ for the same algorithm.
  if (bcrypt.compareSync(password, stored.replace(/^\$2y\$/, '$2b$'))) return true
  for (let step = bcrypt.getRounds(stored); step < cost; step += 1) bcrypt.hashSync(password, step)
  return false
}

/**
 * Goes on with bcrypt until about as much time is over since `began` as a comparison of `cost` takes. Each cheaper step is done
 * if it still fits; all of them together take the whole time.
 */
const fillUp = (password: string, cost: number, began: number) => {
  const sample = Math.max(lowestCost, cost - 4)
  const sampled = performance.now()
  bcrypt.hashSync(password, sample)
  const unit = (performance.now() - sampled) / 2 ** sample
  for (let step = cost - 1; step >= lowestCost; step -= 1)
    if (performance.now() - began + unit * 2 ** step <= unit * 2 ** cost) bcrypt.hashSync(password, step)
}

/** A hash of another system that is cheaper than bcrypt fails as slowly as bcrypt. A dearer one takes its own time. */
export const compareImported = async ({ password, hash: stored, cost }: Comparison) => {
  const began = performance.now()
  const imported = readImportedHash(stored)
  if (imported && (await importedMatches(password, imported))) return true
  fillUp(password, cost, began)
  return false
}
