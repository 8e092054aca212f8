import { seconds } from '../../lib/durations.js'
import type { Database, Sql } from '../../platform/database/database.js'
import { rightsToMigrate } from '../../platform/database/grants.js'
import { createPostgres } from '../../platform/database/open.js'
import { readableTables, writableTables } from '../../service/tables.js'
import { type CheckGroup, type Finding, failure, ok } from './check.js'

/** Opens a database with few connections, and with short timeouts because a check has eight seconds. */
export const openForChecks = (url: string) =>
  createPostgres({
    url,
    applicationName: 'latchkey doctor',
    poolSize: 2,
    connectTimeoutMs: 4 * seconds,
    statementTimeoutMs: 3 * seconds,
  })

export const readOnlyText =
  'the database accepts no writes: default_transaction_read_only is on for the server, the database or the role'

/** Tells databases apart, because two URLs may name the same database in different ways. */
const identityOf = async (sql: Sql) => {
  const [row] = await sql.query<{ identity: string }>(
    `select current_database() || ' ' || system_identifier::text as identity from pg_control_system()`,
  )
  return row?.identity
}

/** False also if it cannot be known, because one database cannot be reached or its role may not ask. */
const areDifferentDatabases = async (owner: Sql, service: Sql) => {
  const [one, other] = await Promise.allSettled([identityOf(owner), identityOf(service)])
  return one.status === 'fulfilled' && other.status === 'fulfilled' && one.value !== other.value
}

const checkOwner = async (owner: Sql, service: Sql): Promise<Finding> => {
  const { role, creates, tablesOfOthers } = await rightsToMigrate(owner, [...writableTables, ...readableTables])
  const [server] = await owner.query<{ standby: boolean; writable: boolean }>(
    `select pg_is_in_recovery() as standby, current_setting('transaction_read_only') = 'off' as writable`,
  )
  if (server?.standby)
    return failure('this server is a standby and accepts no writes: name the primary in DATABASE_OWNER_URL')
  if (!server?.writable) return failure(readOnlyText)
  if (await areDifferentDatabases(owner, service))
    return failure('DATABASE_OWNER_URL names another database than DATABASE_URL')
  if (tablesOfOthers > 0)
    return failure(`${role} does not own the tables: name the role that does in DATABASE_OWNER_URL`)
  return creates
    ? ok(`${role} may migrate`)
    : failure(`${role} may not create tables here: name the owner of the database in DATABASE_OWNER_URL`)
}

/** Checks the role that migrates, if DATABASE_OWNER_URL names one. */
export const ownerChecks = (ownerUrl: string | undefined, service: Database): CheckGroup => {
  if (ownerUrl === undefined) return { checks: [] }
  const owner = openForChecks(ownerUrl)
  return { checks: [{ name: 'database owner', run: () => checkOwner(owner, service) }], close: () => owner.close() }
}
