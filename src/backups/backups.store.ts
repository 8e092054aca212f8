import type { Sql } from '../platform/database/database.js'
import { migrationLock } from '../platform/database/migrate.js'
import { quoteIdentifier } from '../platform/database/sql.js'

/** Names of tables, columns and constraints come from our own lists or from the catalog, never from a backup. */

type Names = readonly string[]

/** The number of a lock that nothing else uses: services of this database show with it that they run. */
const presenceLock = 7_284_110_453

// ── Services

/** Waits as long as a restore holds the lock. */
export const showPresence = (sql: Sql) => sql.query('select pg_advisory_xact_lock_shared($1)', [presenceLock])

/** Nobody migrates or restores at the same time. */
export const tryLock = (sql: Sql) =>
  sql.query<{ mine: boolean }>('select pg_try_advisory_xact_lock($1) as mine', [migrationLock])

export const lockOutServices = (sql: Sql) => sql.query('select pg_advisory_xact_lock($1)', [presenceLock])

/** Whether anybody else is connected to this database, and whether a service waits for the lock that we hold. */
export const selectOthers = (sql: Sql) =>
  sql.query<{ pid: number; connected: boolean; waiting: boolean }>(
    `select pg_backend_pid() as pid,
       exists (
         select from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()
       ) as connected,
       exists (
         select from pg_locks where locktype = 'advisory' and not granted and objsubid = 1
           and database = (select oid from pg_database where datname = current_database())
           and ($1::bigint >> 32, $1::bigint & 4294967295) = (classid::bigint, objid::bigint)
       ) as waiting`,
    [presenceLock],
  )

// ── The schema

/** The tables of the list that exist, in its order. Another schema of the search path may have one of the same name. */
export const selectExisting = (sql: Sql, tables: Names) =>
  sql.query<{ name: string }>(
    `select name from unnest($1::text[]) with ordinality as listed (name, place)
     join pg_class on pg_class.oid = to_regclass(quote_ident(name))
     where relnamespace = (select relnamespace from pg_class where oid = 'schema_migrations'::regclass) order by place`,
    [tables],
  )

export const selectMigrations = (sql: Sql) =>
  sql.query<{ name: string; checksum: string }>('select name, checksum from schema_migrations order by name')

/** The columns that a row is copied with. The others are computed, or written anew. */
export const selectColumns = (sql: Sql, tables: Names) =>
  sql.query<{ table: string; columns: string[] }>(
    `select name as table, array(
       select attname::text from pg_attribute
       where attrelid = to_regclass(quote_ident(name)) and attnum > 0 and not attisdropped and attgenerated = ''
         and atttypid <> 'xid8'::regtype
       order by attnum
     ) as columns
     from unnest($1::text[]) with ordinality as listed (name, place) order by place`,
    [tables],
  )

export const selectEventParts = (sql: Sql) =>
  sql.query<{ name: string; bounds: string }>(
    `select relname::text as name, pg_get_expr(relpartbound, oid) as bounds
     from pg_class join pg_inherits on inhrelid = oid where inhparent = to_regclass('events') order by relname`,
  )

export const selectTime = (sql: Sql) => sql.query<{ now: Date }>('select now() as now')

/** In milliseconds, by the clock of the database. */
export const selectAge = (sql: Sql, moment: string) =>
  sql.query<{ age: number }>('select (extract(epoch from clock_timestamp() - $1::timestamptz) * 1000)::float8 as age', [
    moment,
  ])

const listed = (names: Names) => names.map(quoteIdentifier).join(', ')

export const lockAgainstChanges = (tables: Names) => `lock table ${listed(tables)} in access share mode`
/** As a query, because a table in parts has no rows of its own. */
export const copyOut = (table: string, columns: Names) =>
  `copy (select ${listed(columns)} from ${quoteIdentifier(table)}) to stdout`
export const copyIn = (table: string, columns: Names) =>
  `copy ${quoteIdentifier(table)} (${listed(columns)}) from stdin`

export const lockForRestore = (tables: Names) => `lock table ${listed(tables)} in access exclusive mode`
export const truncate = (tables: Names) => `truncate ${listed(tables)}`
export const analyze = (tables: Names) => `analyze ${listed(tables)}`
export const dropAll = (tables: Names, functions: Names) => `
  drop table ${listed(tables)} cascade;
  drop function if exists ${listed(functions)} cascade`

export const selectAnyUser = (sql: Sql) => sql.query('select from users limit 1')

/** Our own triggers. Those of foreign keys are no user triggers, and belong to a superuser. */
export const setTriggers = (tables: Names, state: 'enable' | 'disable') =>
  tables.map((table) => `alter table ${quoteIdentifier(table)} ${state} trigger user`).join(';')

/** Makes the parts of the table of events anew. Their names and bounds are checked by the caller. */
export const replaceEventParts = (earlier: Names, parts: readonly { name: string; bounds: string }[]) =>
  [
    `drop table ${listed(earlier)}`,
    ...parts.flatMap(({ name, bounds }) => [
      `create table ${quoteIdentifier(name)} (like events including all)`,
      `create trigger events_emptied before truncate on ${quoteIdentifier(name)}
         for each statement execute function refuse_changed_event()`,
      `alter table events attach partition ${quoteIdentifier(name)} ${bounds}`,
    ]),
  ].join(';')

/**
 * What is checked or kept for each row, as statements that take it away and make it again, indexes before foreign keys. The database would
 * keep the foreign keys of every row in memory until the table is filled, and an index that is made from all rows takes less time. A table in
 * parts keeps its indexes: each part would get another name for its own.
 */
export const selectRowWork = (sql: Sql, tables: Names) =>
  sql.query<{ drop: string; make: string }>(
    `with listed as (
       select oid, relkind = 'p' as "hasParts" from pg_class
       where oid in (select to_regclass(quote_ident(name)) from unnest($1::text[]) as name)
     )
     select "drop", make from (
       select contype = 'f' as "isLast", format('alter table %s drop constraint %I', conrelid::regclass, conname) as "drop",
         format('alter table %s add constraint %I %s', conrelid::regclass, conname, pg_get_constraintdef(c.oid)) as make
       from pg_constraint as c join listed on listed.oid = conrelid
       where contype = 'f' or contype in ('p', 'u') and not "hasParts"
       union all
       select false, format('drop index %s', indexrelid::regclass), pg_get_indexdef(indexrelid)
       from pg_index join listed on listed.oid = indrelid
       where not "hasParts" and not exists (select from pg_constraint where conindid = indexrelid and conrelid = indrelid)
     ) as work order by "isLast", make`,
    [tables],
  )

/** The columns with a sequence. */
export const selectSequences = (sql: Sql, tables: Names) =>
  sql.query<{ set: string }>(
    `select format('select setval(%L, coalesce((select max(%I) from %s), 0) + 1, false)', s.oid::regclass, attname, attrelid::regclass) as set
     from pg_depend as d
     join pg_class as s on s.oid = d.objid and s.relkind = 'S'
     join pg_attribute on attrelid = d.refobjid and attnum = d.refobjsubid
     where d.classid = 'pg_class'::regclass and d.refclassid = 'pg_class'::regclass and d.deptype in ('a', 'i')
       and attrelid in (select to_regclass(quote_ident(name)) from unnest($1::text[]) as name)`,
    [tables],
  )

// ── After the rows

/** The links work no longer. The rows stay, because each reserves an address for its user. */
export const endUndoLinks = (sql: Sql) =>
  sql.query<{ count: number }>(
    `with ended as (update undos set is_void = true where not is_void returning 1) select count(*) as count from ended`,
  )

/** Refuses all access tokens from before: tokens of sessions that had ended, too. Tokens have whole seconds. */
export const refuseEarlierTokens = (sql: Sql, everyone: string) =>
  sql.query(
    `insert into ended_sessions (sid, refused_before, reason)
     values ($1, date_trunc('second', clock_timestamp()) + interval '1 second', 'restored')`,
    [everyone],
  )

export const insertEvent = (
  sql: Sql,
  event: { id: string; kind: string; reason: string; ip: string; userAgent: string },
) =>
  sql.query(
    `insert into events (id, kind, reason, ip, user_agent, created_at, log_pending)
     values ($1, $2, $3, $4, $5, clock_timestamp(), true)`,
    [event.id, event.kind, event.reason, event.ip, event.userAgent],
  )
