import type { Sql } from '../../platform/database/database.js'
import { databaseMoment, milliseconds } from '../../platform/database/database-now.js'
import { selectList } from '../../platform/database/select-list.js'

export type MailSignInRow = {
  id: string
  user_id: string | null
  email: string | null
  tries_left: number
}

const columns = { id: true, user_id: true, email: true, tries_left: true } as const
/** `is_good`: the code had a try left, and time. */
type TriedRow = MailSignInRow & { is_good: boolean }

/** By the database's clock, which also sets the expiry: instances whose clocks differ agree on it. */
const isOpen = (clockOffset: string) => `expires_at > ${databaseMoment(clockOffset)}`
/** The code and the link in the mail still work. That can end before the row does, see `keep`. */
const mailIsGood = (clockOffset: string) =>
  `proven_at is null and ${isOpen(clockOffset)} and code_expires_at > ${databaseMoment(clockOffset)}`

export const insert = (
  sql: Sql,
  begun: {
    browserHash: Uint8Array
    addressHash: Uint8Array
    id: string
    tokenHash: Uint8Array
    userId: string | null
    email: string | null
    emailKey: string | null
    tries: number
    lifetime: number
    clockOffset: number
  },
) =>
  sql.query(
    `insert into mail_sign_ins (browser_hash, id, token_hash, user_id, email, email_key, tries_left, code_tries_left, expires_at,
       code_expires_at, address_hash)
     values ($1, $2, $3, $4, $5, $6, $7, $7, ${databaseMoment('$8')} + ${milliseconds('$9')},
       ${databaseMoment('$8')} + ${milliseconds('$9')}, $10)`,
    [
      begun.browserHash,
      begun.id,
      begun.tokenHash,
      begun.userId,
      begun.email,
      begun.emailKey,
      begun.tries,
      begun.clockOffset,
      begun.lifetime,
      begun.addressHash,
    ],
  )

/** The row as it is found if it was for the address, and as it goes on. */
type Kept = {
  from: { browserHash: Uint8Array; addressHash: Uint8Array }
  to: { browserHash: Uint8Array; addressHash: Uint8Array }
  tries: number
  lifetime: number
  clockOffset: number
}

/**
 * The mail that was sent before stays good, with the tries and the time that it has left, under the new value of its browser. The answers
 * to wrong codes begin anew, as after a mail.
 */
export const keep = (sql: Sql, { from, to, tries, lifetime, clockOffset }: Kept) =>
  sql.query(
    `update mail_sign_ins set browser_hash = $3, address_hash = $4, tries_left = $5,
       expires_at = ${databaseMoment('$6')} + ${milliseconds('$7')}
     where browser_hash = $1 and address_hash = $2 and ${mailIsGood('$6')} returning id`,
    [from.browserHash, from.addressHash, to.browserHash, to.addressHash, tries, clockOffset, lifetime],
  )

export const removeOfBrowser = (sql: Sql, browserHash: Uint8Array) =>
  sql.query('delete from mail_sign_ins where browser_hash = $1', [browserHash])

/** Counts a try before the code is compared, so that parallel guesses cannot exceed the tries. */
export const spendTry = (sql: Sql, browserHash: Uint8Array, clockOffset: number) =>
  sql.query<TriedRow>(
    `update mail_sign_ins set tries_left = tries_left - 1, code_tries_left = code_tries_left - 1
     where browser_hash = $1 and tries_left > 0 and proven_at is null and ${isOpen('$2')}
     returning ${selectList<TriedRow>({ ...columns, is_good: `code_tries_left >= 0 and ${mailIsGood('$2')}` })}`,
    [browserHash, clockOffset],
  )

type LinkRow = MailSignInRow & { bound: boolean }

/** By the link of its mail. `bound`: whether this browser has asked for it. */
export const selectByToken = (sql: Sql, tokenHash: Uint8Array, browserHash: Uint8Array | null, clockOffset: number) =>
  sql.query<LinkRow>(
    `select ${selectList<LinkRow>({ ...columns, bound: 'coalesce(browser_hash = $2, false)' })}
     from mail_sign_ins where token_hash = $1 and tries_left > 0 and code_tries_left > 0 and ${mailIsGood('$3')}`,
    [tokenHash, browserHash, clockOffset],
  )

/** Using one deletes its row, so of many requests at once only one succeeds. */
export const take = (sql: Sql, id: string, userId: string, clockOffset: number) =>
  sql.query(`delete from mail_sign_ins where id = $1 and user_id = $2 and ${mailIsGood('$3')} returning id`, [
    id,
    userId,
    clockOffset,
  ])

/** The address is proven. The browser gets another value: the one before was given for less. */
export const prove = (
  sql: Sql,
  id: string,
  { browserHash, lifetime, clockOffset }: { browserHash: Uint8Array; lifetime: number; clockOffset: number },
) =>
  sql.query(
    `update mail_sign_ins set browser_hash = $2, proven_at = ${databaseMoment('$3')},
       expires_at = ${databaseMoment('$3')} + ${milliseconds('$4')}
     where id = $1 and email is not null and ${mailIsGood('$3')} returning id`,
    [id, browserHash, clockOffset, lifetime],
  )

const isProven = `browser_hash = $1 and proven_at is not null and email is not null and ${isOpen('$2')}`

export const selectProven = (sql: Sql, browserHash: Uint8Array, clockOffset: number) =>
  sql.query<{ email: string }>(`select email from mail_sign_ins where ${isProven}`, [browserHash, clockOffset])

export const takeProven = (sql: Sql, browserHash: Uint8Array, clockOffset: number) =>
  sql.query(`delete from mail_sign_ins where ${isProven} returning id`, [browserHash, clockOffset])

export const deleteOfUser = (sql: Sql, userId: string) =>
  sql.query('delete from mail_sign_ins where user_id = $1', [userId])
