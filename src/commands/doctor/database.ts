import { seconds } from '../../lib/durations.js'
import { countText } from '../../lib/text.js'
import type { Database, Sql } from '../../platform/database/database.js'
import { rightsToMigrate } from '../../platform/database/grants.js'
import { schemaStatus } from '../../platform/database/migrate.js'
import { createPostgres } from '../../platform/database/open.js'
import { postgresAddress } from '../../platform/database/postgres-address.js'
import { type ConnectTo, createConnect, type Host, hostName, reasonOf } from '../../platform/database/primary.js'
import { clusterFolder } from '../../platform/own-postgres/own-postgres.js'
import { migrationsDirectory as directory } from '../../service/prepare-database.js'
import { readableTables, readableViews, writableTables } from '../../service/tables.js'
import type { Config } from '../../settings/config.js'
import { errorInProduction, type Finding, failure, judgeClock, ok, skipped, warning, worstOf } from './check.js'

const megabyte = 1024 * 1024
/** If `events_other` is larger, the service makes no further months (`make_event_months`). */
const maxOtherBytes = 256 * megabyte

/** Checks that the table of events has partitions for this month and the next, and how much stands outside of all months. */
export const checkEventMonths = async (database: Database): Promise<Finding> => {
  const [found] = await database.query<{ missing: string | null; months: number; other: number }>(
    `with wanted as (
       select month, first_event_id(month) as first_id
       from date_trunc('month', now() at time zone 'utc') as this_month,
         unnest(array[this_month, this_month + interval '1 month']) as month
     )
     select (select string_agg(to_char(month, 'YYYY-MM'), ' and ' order by month) from wanted as w
              where not exists (select from event_months() as m where m.first_id <= w.first_id and w.first_id < m.end_id)) as missing,
       (select count(*) from event_months()) as months,
       pg_relation_size('events_other') as other`,
  )
  const { missing = null, months = 0, other = 0 } = found ?? {}
  const size = `${Math.ceil(other / megabyte)} MB`
  return worstOf(`in ${countText(months, 'part')} by month, ${other > 0 ? size : 'nothing'} outside of them`, [
    missing === null
      ? ok('')
      : warning(`no part for ${missing}: events are written to events_other, which the service purges row by row`),
    other > maxOtherBytes
      ? warning(
          `events_other has ${size}, so the service makes no months: as the owner, run select make_event_months(4)`,
        )
      : ok(''),
  ])
}

const askHost = async (host: Host, connect: ConnectTo): Promise<Finding> => {
  try {
    const connection = await connect(host, 4 * seconds)
    try {
      const [row] = await connection.query<{ standby: boolean; writable: boolean }>(
        `select pg_is_in_recovery() as standby, current_setting('transaction_read_only') = 'off' as writable`,
      )
      if (row?.standby) return ok(`${hostName(host)} is a standby`)
      return row?.writable
        ? ok(`${hostName(host)} is a primary`)
        : warning(`${hostName(host)} is not used: its default_transaction_read_only is on`)
    } finally {
      await connection.end()
    }
  } catch (error) {
    return warning(`${hostName(host)} cannot be used: ${reasonOf(error)}`)
  }
}

/** The service works as long as the primary answers, so a lost standby is noticed only by this check, or when the standby is needed. */
export const checkHosts = async (url: string): Promise<Finding> => {
  const address = postgresAddress(url)
  const timeouts = { statementTimeoutMs: 3 * seconds, lockTimeoutMs: 3 * seconds }
  const connect = createConnect({ address, applicationName: 'latchkey doctor', ...timeouts })
  const findings = await Promise.all(address.hosts.map((host) => askHost(host, connect)))
  return worstOf(findings.map(({ says }) => says).join(', '), findings)
}

/** Opens a database with few connections, and with short timeouts because a check has eight seconds. */
export const openForChecks = (url: string) =>
  createPostgres({
    url,
    applicationName: 'latchkey doctor',
    poolSize: 2,
    connectTimeoutMs: 4 * seconds,
    statementTimeoutMs: 3 * seconds,
  })

const readOnlyText =
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

/** Checks the role that migrates. */
export const checkOwner = async (owner: Sql, service: Sql): Promise<Finding> => {
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

const oldestVersion = 13

type Server = Record<'version' | 'encoding' | 'timeout', string> &
  Record<'major' | 'max_connections' | 'reserved_connections', number> &
  Record<'standby' | 'writable', boolean>

const askServer = async (sql: Sql) => {
  const [server] = await sql.query<Server>(`
    select current_setting('server_version') as version,
           current_setting('server_version_num')::int / 10000 as major,
           pg_is_in_recovery() as standby,
           current_setting('transaction_read_only') = 'off' as writable,
           current_setting('server_encoding') as encoding,
           current_setting('statement_timeout') as timeout,
           current_setting('max_connections')::int as max_connections,
           current_setting('superuser_reserved_connections')::int as reserved_connections`)
  if (!server) throw new Error('PostgreSQL gave no answer')
  return server
}

export const checkServer = (
  server: Server,
  { databasePool, workers, production, ownDatabase, dataDir }: Config,
): Finding => {
  const place = ownDatabase ? ` of its own in ${clusterFolder(dataDir)}` : ''
  const connectionsPerInstance = databasePool * workers
  const { version, major, standby, writable, encoding, timeout } = server
  const available = server.max_connections - server.reserved_connections
  const connections = countText(available, 'connection')
  return worstOf(
    `PostgreSQL ${version}${place}, ${connections} in total, ${connectionsPerInstance} for each instance`,
    [
      standby ? failure('this server is a standby and accepts no writes: name the primary in DATABASE_URL') : ok(''),
      standby || writable ? ok('') : failure(readOnlyText),
      major < oldestVersion ? failure(`PostgreSQL ${version} is too old: ${oldestVersion} or newer is needed`) : ok(''),
      timeout === '0'
        ? warning(
            'the pooler does not accept timeouts: set statement_timeout and lock_timeout of the role (docs/deployment.md)',
          )
        : ok(''),
      encoding === 'UTF8' ? ok('') : failure(`the database is encoded in ${encoding} and must be in UTF8`),
      connectionsPerInstance > available
        ? errorInProduction(production)(
            `DATABASE_POOL is ${databasePool}${workers > 1 ? ` in each of ${workers} processes` : ''}, and the server allows ${available}`,
          )
        : ok(''),
    ],
  )
}

type Rights = Record<
  'superuser' | 'creates_roles' | 'creates_tables' | 'owns' | 'writes_content' | 'suffices',
  boolean
> & {
  role: string
}

/** Asks which rights the role has, without using them. */
const askRights = async (sql: Sql) => {
  const tables = [...writableTables, ...readableTables, ...readableViews]
  const [tableCount] = await sql.query<{ missing: number }>(
    'select count(*) as missing from unnest($1::text[]) as name where to_regclass(name) is null',
    [tables],
  )
  if (tableCount?.missing !== 0) return undefined
  const [rights] = await sql.query<Rights>(
    `select current_user::text as role,
            rolsuper as superuser,
            rolcreaterole or rolcreatedb as creates_roles,
            has_schema_privilege(current_schema(), 'create')
              or has_database_privilege(current_database(), 'create') as creates_tables,
            (select bool_or(pg_has_role(relowner, 'usage')) from pg_class
              where oid = any (select to_regclass(name) from unnest($1::text[]) as name)) as owns,
            has_table_privilege('content', 'insert') or has_table_privilege('content', 'update')
              or has_table_privilege('content', 'delete') or has_table_privilege('content', 'truncate') as writes_content,
            (select bool_and(has_table_privilege(name, 'select')) from unnest($1::text[]) as name)
              and (select bool_and(has_table_privilege(name, 'insert') and has_table_privilege(name, 'delete')
                     and has_any_column_privilege(name, 'update')) from unnest($2::text[]) as name) as suffices
     from pg_roles where rolname = current_user`,
    [tables, writableTables],
  )
  return rights
}

export const checkRole = async (sql: Sql): Promise<Finding> => {
  const rights = await askRights(sql)
  if (!rights) return failure("the tables are not there yet, or not in this role's search path: run `latchkey migrate`")
  const { role } = rights
  if (!rights.suffices)
    return failure(`${role} lacks rights on the tables: run \`latchkey migrate\` with DATABASE_OWNER_URL set`)
  const surplusRights = [
    rights.superuser && 'is a superuser',
    rights.creates_roles && 'may create roles or databases',
    rights.owns && 'owns the tables',
    rights.creates_tables && 'may create tables or schemas',
    rights.writes_content && 'may write content',
  ].filter((each) => each !== false)
  return surplusRights.length > 0
    ? warning(
        `${role} ${surplusRights.join(', ')}: give DATABASE_URL a role of its own, and the owner to DATABASE_OWNER_URL`,
      )
    : ok(`${role} reads and writes rows, only reads content, and creates nothing`)
}

const checkSchema = async (database: Database): Promise<Finding> => {
  const { applied, pending, newer } = await schemaStatus({ database, directory })
  const names = pending.map(({ name }) => name).join(', ')
  if (pending.length > 0 && applied.length === 0)
    return failure(`none of the ${pending.length} migrations is applied yet: run \`latchkey migrate\``)
  if (pending.length > 0) return failure(`${names} not applied yet: run \`latchkey migrate\``)
  return newer.length > 0
    ? warning(`the database has ${newer.join(', ')} of a newer version, which this one can run on: start the newer one`)
    : ok('the schema is up to date')
}

export const checkDurability = async (sql: Sql, production: boolean): Promise<Finding> => {
  const [row] = await sql.query<Record<'fsync' | 'pages' | 'commit' | 'standbys', string> & { connected: number }>(`
    select current_setting('fsync') as fsync, current_setting('full_page_writes') as pages,
           current_setting('synchronous_commit') as commit, current_setting('synchronous_standby_names') as standbys,
           (select count(*) from pg_stat_replication) as connected`)
  const warningOrError = errorInProduction(production)
  return worstOf(`every confirmed change is on disk${row?.standbys ? ' and on a standby' : ''}`, [
    row?.fsync === 'on' ? ok('') : warningOrError('fsync is off: a power cut can destroy the database'),
    row?.pages === 'on' ? ok('') : warningOrError('full_page_writes is off: a power cut can destroy the database'),
    row?.commit === 'off'
      ? warningOrError('synchronous_commit is off: a crash can lose sign-ins that were already confirmed')
      : ok(''),
    row?.standbys && row.commit === 'local'
      ? warning('synchronous_commit is local: a failover can lose sign-ins that were already confirmed')
      : ok(''),
    row?.standbys && row.commit !== 'local' && row.connected < 2
      ? warning(
          row.connected === 0
            ? 'no standby is connected, and commits wait for one: no user can sign in'
            : '1 standby is connected, and commits wait for it: when it stops, no user can sign in',
        )
      : ok(''),
  ])
}

export const checkClock = async (sql: Sql): Promise<Finding> => {
  const askedAt = Date.now()
  const [row] = await sql.query<{ now: Date }>('select clock_timestamp() as now')
  return judgeClock('PostgreSQL', askedAt, Date.now(), row?.now.getTime() ?? 0)
}

/** Questions that several checks ask are asked once. `onceReached` and `onceMigrated` skip a check if the answer is no. */
export const askDatabaseOnce = (database: Database) => {
  let serverPromise: Promise<Server> | undefined
  const server = () => {
    serverPromise ??= askServer(database)
    return serverPromise
  }
  const onceReached = (check: () => Promise<Finding>) => async () => {
    const isReached = await server().then(
      () => true,
      () => false,
    )
    return isReached ? check() : skipped('the database cannot be used')
  }
  let schemaPromise: Promise<Finding> | undefined
  const schema = () => {
    schemaPromise ??= checkSchema(database)
    return schemaPromise
  }
  const isMigrated = () =>
    schema().then(
      ({ level }) => level !== 'error',
      () => false,
    )
  const onceMigrated = (check: () => Promise<Finding>) =>
    onceReached(async () => ((await isMigrated()) ? check() : skipped('the tables are not ready: see database schema')))
  return { server, schema, isMigrated, onceReached, onceMigrated }
}
