import type { Sql } from '../database/database.js'
import type { Attempt, MissedCounts, Taken } from './cache.js'

type CountedRow = { granted: boolean; remaining: number; resetsIn: number; ends: number }
type CounterRow = { key: string; used: number; ends: number }

// The functions are in migrations/0002-triggers.sql. `offset` moves the clock of the database, in tests.

export const count = (sql: Sql, attempts: readonly Attempt[], mayBegin: boolean, offset: number) =>
  sql.query<CountedRow>(
    `select granted, remaining, resets_in as "resetsIn", window_end as ends
       from count_attempts($1::text[], $2::bigint[], $3::bigint[], $4, $5)`,
    [
      attempts.map(({ key }) => key),
      attempts.map(({ limit }) => limit.maximum),
      attempts.map(({ limit }) => limit.window),
      mayBegin,
      offset,
    ],
  )

/**
 * As `count`, after two rows of nulls: for the locks, which are taken together, and for what is given back. A condition that leaves these
 * rows out would keep PostgreSQL from calling the functions.
 */
export const countAndGiveBack = async (
  sql: Sql,
  attempts: readonly Attempt[],
  returned: readonly Taken[],
  mayBegin: boolean,
  offset: number,
) => {
  const rows = await sql.query<CountedRow>(
    `select null::boolean as granted, null::bigint as remaining, null::bigint as "resetsIn", null::bigint as ends
       from lock_counters($1::text[] || $6::text[])
     union all
     select null, null, null, null from refund_attempts($6::text[], $7::bigint[])
     union all
     select granted, remaining, resets_in, window_end from count_attempts($1::text[], $2::bigint[], $3::bigint[], $4, $5)`,
    [
      attempts.map(({ key }) => key),
      attempts.map(({ limit }) => limit.maximum),
      attempts.map(({ limit }) => limit.window),
      mayBegin,
      offset,
      returned.map(({ key }) => key),
      returned.map(({ window }) => window.id),
    ],
  )
  return rows.slice(2)
}

export const giveBack = (sql: Sql, taken: readonly Taken[]) =>
  sql.query('select refund_attempts($1::text[], $2::bigint[])', [
    taken.map(({ key }) => key),
    taken.map(({ window }) => window.id),
  ])

export const carry = (sql: Sql, missed: readonly MissedCounts[], mayBegin: boolean, offset: number) =>
  sql.query<{ carried: boolean }>(
    `select carried from carry_counters($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7, $8)`,
    [
      missed.map(({ key }) => key),
      missed.map(({ maximum }) => maximum),
      missed.map(({ used }) => used),
      missed.map(({ counted }) => counted),
      missed.map(({ resetsIn }) => Math.ceil(resetsIn)),
      missed.map(({ windowId }) => windowId),
      mayBegin,
      offset,
    ],
  )

export const forget = (sql: Sql, keys: readonly string[], offset: number) =>
  sql.query<CounterRow>('select key, used, ends from forget_counters($1::text[], $2)', [keys, offset])

export const select = (sql: Sql, keys: readonly string[], offset: number) =>
  sql.query<CounterRow>(
    'select key, used, ends from counters where key = any($1::text[]) and ends > counters_now($2)',
    [keys, offset],
  )

export const selectKeys = (sql: Sql, beginning: string, offset: number) =>
  sql.query<{ key: string }>('select key from counters where starts_with(key, $1) and ends > counters_now($2)', [
    beginning,
    offset,
  ])

/**
 * Deletes counters whose windows have ended after `from`, but none that is being changed: it waits for nobody. A batch begins where the one
 * before it has ended, because what that has deleted is still in the index for a while.
 */
export const deleteEnded = (sql: Sql, from: number, limit: number, offset: number) =>
  sql.query<{ ends: number }>(
    `delete from counters where key = any(array(
       select key from counters where ends >= $1 and ends <= (select counters_now($3)) order by ends limit $2
       for update skip locked
     )) returning ends`,
    [from, limit, offset],
  )

/** How many counters there are, as far as `limit`. */
export const countRows = (sql: Sql, limit: number) =>
  sql.query<{ rows: number }>('select count(*) as rows from (select from counters limit $1) as counted', [limit])
