import type { Clock } from '../../lib/clock.js'
import type { Database, Sql } from '../../platform/database/database.js'
import * as store from './consents.store.js'

export type Consents = ReturnType<typeof createConsents>

/**
 * The scopes that users have agreed to share with an application. A consent never stands in for the group that the application asks for.
 */
export const createConsents = ({ database, clock }: { database: Database; clock: Clock }) => ({
  /** Undefined if the user has never agreed. */
  scopesOf: async (
    userId: string,
    applicationId: string,
    sql: Sql = database,
  ): Promise<readonly string[] | undefined> => {
    const [row] = await store.selectScopes(sql, userId, applicationId)
    return row?.scopes
  },
  give: async (sql: Sql, userId: string, applicationId: string, scopes: readonly string[]) => {
    await store.addScopes(sql, { userId, applicationId, scopes, now: clock.now() })
  },
})
