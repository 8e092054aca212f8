import type { Clock } from '../lib/clock.js'
import { acceptTransaction, type Database, type Sql } from '../platform/database/database.js'
import * as store from './consents.store.js'

export type Consents = ReturnType<typeof createConsents>

/**
 * The scopes that users have agreed to share with an application. Consent gives no access: `access` and the groups of the application do.
 */
export const createConsents = ({ database, clock }: { database: Database; clock: Clock }) => ({
  /** Undefined if the user has never agreed. */
  scopesOf: acceptTransaction(database)(
    async (sql, userId: string, applicationId: string): Promise<readonly string[] | undefined> => {
      const [row] = await store.selectScopes(sql, userId, applicationId)
      return row?.scopes
    },
  ),
  give: async (sql: Sql, userId: string, applicationId: string, scopes: readonly string[]) => {
    await store.addScopes(sql, { userId, applicationId, scopes, now: clock.now() })
  },
})
