import type { Sql, Transaction } from '../platform/database/database.js'
import { databaseMoment, milliseconds } from '../platform/database/sql.js'

/**
 * Waits for every transaction that has created a user, and lets none do so until this one ends: the trigger `first_user_ends_setup` shares
 * the lock. So what is read after this call stays true, and of two setups at once the second finds the user of the first.
 */
export const lockSetup = (sql: Transaction) =>
  sql.query(`select pg_advisory_xact_lock(hashtextextended('first user', 0))`)

/** No row if there is a user. */
export const insertToken = (sql: Sql, hash: Uint8Array, lifetime: number, clockOffset: number) =>
  sql.query(
    `insert into setup_tokens (hash, expires_at)
     select $1, ${databaseMoment('$3')} + ${milliseconds('$2')} where not exists (select 1 from users) returning hash`,
    [hash, lifetime, clockOffset],
  )

/** The second condition lets the database use its index, which only has users who are in a group. */
export const selectMember = (sql: Sql, group: string) =>
  sql.query(`select 1 from users where groups @> array[$1::text] and groups <> '{}' limit 1`, [group])

type Standing = { has_users: boolean; is_valid: boolean }

export const selectStanding = (sql: Sql, hash: Uint8Array, clockOffset: number) =>
  sql.query<Standing>(
    `select exists (select 1 from users) as has_users,
       exists (select 1 from setup_tokens where hash = $1 and expires_at > ${databaseMoment('$2')}) as is_valid`,
    [hash, clockOffset],
  )
