import type { Clock } from '../lib/clock.js'
import type { Database, Sql } from '../platform/database/database.js'
import * as store from './users.store.js'

export type Terms = ReturnType<typeof createTerms>

/**
 * The versions of the terms that users have agreed to. Each version has its own row, so that two instances with different versions do not
 * ask in turns. Without a version nothing is asked.
 */
export const createTerms = (deps: { database: Database; clock: Clock; version: string | undefined }) => {
  const { database, clock, version } = deps
  return {
    version,
    /** Whether the user still has to agree to the present version. */
    isAgreementMissing: async (sql: Sql, userId: string) =>
      version !== undefined && (await store.selectAgreed(sql, userId, version)).length === 0,
    /** `at`: when the form of a registration was sent, if the user agreed there. */
    agree: async (sql: Sql, userId: string, agreedVersion: string, at: Date = clock.now()) => {
      await store.insertAgreed(sql, userId, agreedVersion, at)
    },
    agreedBy: async (userId: string) =>
      (await store.selectAllOfUser(database, userId)).map((row) => ({ version: row.version, agreedAt: row.agreed_at })),
  }
}
