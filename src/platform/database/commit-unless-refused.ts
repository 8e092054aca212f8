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

/** Runs `work` in one transaction, which is rolled back if `work` refuses. */
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
