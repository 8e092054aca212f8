import type { Sql, Transaction } from './database.js'

const isTransaction = (sql: Sql): sql is Transaction => 'afterCommit' in sql

/** Calls `follow` once the transaction is committed, or at once outside of a transaction. It is for changes in memory. */
export const afterCommit = (sql: Sql, follow: () => void) => {
  if (isTransaction(sql)) sql.afterCommit(follow)
  else follow()
}
