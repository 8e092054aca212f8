import bcrypt from 'bcrypt'
import { yieldToOthers } from '../../platform/workers/priority.js'

yieldToOthers()

export const hash = ({ password, cost }: { password: string; cost: number }) => bcrypt.hashSync(password, cost)

/**
 * A failed comparison with a cheaper hash than `cost` continues until it has done the work of `cost`, so that it takes as
 * long as one with a decoy: each step of cost doubles the work, and 2^c + (2^c + 2^(c+1) + … + 2^(cost-1)) = 2^cost.
 */
export const compare = ({ password, hash: stored, cost }: { password: string; hash: string; cost: number }) => {
  // The library knows $2a$ and $2b$. PHP and others write $2y$ for the same algorithm.
  if (bcrypt.compareSync(password, stored.replace(/^\$2y\$/, '$2b$'))) return true
  for (let step = bcrypt.getRounds(stored); step < cost; step += 1) bcrypt.hashSync(password, step)
  return false
}
