import { isRefused, type Refused } from '../../contract/outcome.js'
import type { Database, Transaction } from './database.js'

class RolledBack extends Error {
  override name = 'RolledBack'
  readonly refusal: Refused
  constructor(refusal: Refused) {
    super(`refused: ${refusal.refused}`)
    this.refusal = refusal
  }
}

/** One transaction. If `work` refuses, nothing that it wrote stays. */
export const commitUnlessRefused = async <Outcome>(
  database: Database,
  work: (sql: Transaction) => Promise<Outcome>,
): Promise<Outcome> => {
  try {
    return await database.transaction(async (sql) => {
      const outcome = await work(sql)
      if (isRefused(outcome)) throw new RolledBack(outcome)
      return outcome
    })
  } catch (error) {
    if (error instanceof RolledBack) return error.refusal as Outcome
    throw error
  }
}
