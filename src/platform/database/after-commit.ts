import type { Sql, Transaction } from './database.js'

const isTransaction = (sql: Sql): sql is Transaction => 'afterCommit' in sql

/** For what must follow from a statement in memory: once its transaction is committed, or at once if it has none. */
export const afterCommit = (sql: Sql, follow: () => void) => {
  if (isTransaction(sql)) sql.afterCommit(follow)
  else follow()
}
