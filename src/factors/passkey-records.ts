import { acceptTransaction, type Database, type Sql, type Transaction } from '../platform/database/database.js'
import * as store from './passkeys.store.js'

/** A passkey as its owner sees it. */
export type Passkey = { id: string; name: string; createdAt: Date; lastUsedAt: Date | null; synced: boolean }

export const fromRow = (row: store.PasskeyRow): Passkey => ({
  id: row.id,
  name: row.name,
  createdAt: row.created_at,
  lastUsedAt: row.last_used_at,
  synced: row.synced,
})

export type PasskeyRecords = ReturnType<typeof createPasskeyRecords>

/** Stored passkeys, for parts that begin no ceremony with them. */
export const createPasskeyRecords = ({ database }: { database: Database }) => ({
  list: acceptTransaction(database)(async (sql, userId: string) =>
    (await store.selectOfUser(sql, userId)).map(fromRow),
  ),
  /**
   * Removes passkeys, even if they are the last way to sign in: the caller gives the user another way, and tells the user. Returns how many
   * were removed.
   */
  removeSome: async (sql: Transaction, userId: string, ids: readonly string[]) =>
    (await store.removeSome(sql, userId, ids)).length,
  /** Returns how many passkeys were removed. The caller tells the user. */
  removeAll: async (sql: Transaction, userId: string) => (await store.removeAll(sql, userId)).length,
})

/** Counts all passkeys, and those that no browser offers any more, because they were made for another host. */
export const countPasskeysByHost = async (sql: Sql, host: string) => {
  const [row] = await store.countByHost(sql, host)
  return { all: row?.all ?? 0, forOtherHosts: row?.for_other_hosts ?? 0 }
}
