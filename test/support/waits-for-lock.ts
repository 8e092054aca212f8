import type { Sql, Transaction } from '../../src/platform/database/database.js'
import { testPostgres } from './databases.js'
import type { Latchkey } from './latchkey.js'
import { until } from './until.js'

const waiting = `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`

/** Until a statement waits for a lock of another transaction. `sql` is not the handle of that transaction. */
export const untilBlocked = (sql: Sql) =>
  until('a statement waits for a lock', async () => (await sql.query(waiting)).length > 0)

/** The answer to a request that waits for the user's row while another transaction changes something and commits. */
export const overtaken = async <Result>(
  latchkey: Latchkey,
  username: string,
  request: () => Promise<Result>,
  change: (sql: Transaction, userId: string) => Promise<unknown>,
) => {
  const other = testPostgres(String(latchkey.config.databaseUrl), { statementTimeoutMs: 120_000 })
  const { answer } = await other.transaction(async (sql) => {
    const [user] = await sql.query<{ id: string }>('select id from users where username = $1 for no key update', [
      username,
    ])
    const sent = request()
    await untilBlocked(latchkey.sql)
    await change(sql, String(user?.id))
    return { answer: sent }
  })
  await other.close()
  return answer
}
