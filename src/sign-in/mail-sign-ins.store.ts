import type { Sql } from '../platform/database/database.js'
import { databaseMoment, milliseconds, selectList } from '../platform/database/sql.js'
import type { SessionFacts } from '../sessions/session-facts.js'

export type MailSignInRow = {
  id: string
  user_id: string | null
  email: string | null
  tries_left: number
  facts: unknown
}

const columns = { id: true, user_id: true, email: true, tries_left: true, facts: true } as const
/**
 * `tries_left` is what the answers to the browser show. `code_works`: the code of the mail had one of its own tries left
 * (`code_tries_left`), and has not expired.
 */
type TriedRow = MailSignInRow & { code_works: boolean }

/** The database's clock decides whether a row is open, and also sets the expiry, so that instances whose clocks differ agree. */
const isOpen = (clockOffset: string) => `expires_at > ${databaseMoment(clockOffset)}`
/** Whether the code and the link in the mail still work. They can stop before the row expires, see `keepMail`. */
const mailStillWorks = (clockOffset: string) =>
  `proven_at is null and ${isOpen(clockOffset)} and code_expires_at > ${databaseMoment(clockOffset)}`

export const insert = (
  sql: Sql,
  mailSignIn: {
    browserHash: Uint8Array
    browserEmailHash: Uint8Array
    id: string
    tokenHash: Uint8Array
    userId: string | null
    email: string | null
    emailKey: string | null
    facts: SessionFacts
    tries: number
    lifetime: number
    clockOffset: number
  },
) =>
  sql.query(
    `insert into mail_sign_ins (browser_hash, id, token_hash, user_id, email, email_key, tries_left, code_tries_left, expires_at,
       code_expires_at, address_hash, facts)
     values ($1, $2, $3, $4, $5, $6, $7, $7, ${databaseMoment('$8')} + ${milliseconds('$9')},
       ${databaseMoment('$8')} + ${milliseconds('$9')}, $10, $11)`,
    [
      mailSignIn.browserHash,
      mailSignIn.id,
      mailSignIn.tokenHash,
      mailSignIn.userId,
      mailSignIn.email,
      mailSignIn.emailKey,
      mailSignIn.tries,
      mailSignIn.clockOffset,
      mailSignIn.lifetime,
      mailSignIn.browserEmailHash,
      mailSignIn.facts,
    ],
  )

/** `from`: the hashes by which the row of the former mail is found if it is for the same address. `to`: the hashes that replace them. */
type Continuation = {
  from: { browserHash: Uint8Array; browserEmailHash: Uint8Array }
  to: { browserHash: Uint8Array; browserEmailHash: Uint8Array }
  facts: SessionFacts
  tries: number
  lifetime: number
  clockOffset: number
}

/**
 * Used when no new mail may be sent: lets the former mail go on working under the new token of its browser. That mail keeps its own tries
 * and expiry (`code_tries_left`, `code_expires_at`). Those that the browser sees (`tries_left`, `expires_at`) begin anew, so that it cannot
 * tell that no mail was sent.
 */
export const keepMail = (sql: Sql, { from, to, facts, tries, lifetime, clockOffset }: Continuation) =>
  sql.query(
    `update mail_sign_ins set browser_hash = $3, address_hash = $4, facts = $8, tries_left = $5,
       expires_at = ${databaseMoment('$6')} + ${milliseconds('$7')}
     where browser_hash = $1 and address_hash = $2 and ${mailStillWorks('$6')} returning id`,
    [from.browserHash, from.browserEmailHash, to.browserHash, to.browserEmailHash, tries, clockOffset, lifetime, facts],
  )

export const deleteOfBrowser = (sql: Sql, browserHash: Uint8Array) =>
  sql.query('delete from mail_sign_ins where browser_hash = $1', [browserHash])

/** Counts a try before the code is compared, so that parallel guesses cannot exceed the tries. */
export const spendTry = (sql: Sql, browserHash: Uint8Array, clockOffset: number) =>
  sql.query<TriedRow>(
    `update mail_sign_ins set tries_left = tries_left - 1, code_tries_left = code_tries_left - 1
     where browser_hash = $1 and tries_left > 0 and proven_at is null and ${isOpen('$2')}
     returning ${selectList<TriedRow>({ ...columns, code_works: `code_tries_left >= 0 and ${mailStillWorks('$2')}` })}`,
    [browserHash, clockOffset],
  )

type LinkRow = MailSignInRow & { is_this_browser: boolean }

/** Finds a sign-in by the link of its mail. `is_this_browser`: whether this browser has asked for the mail. */
export const selectByToken = (sql: Sql, tokenHash: Uint8Array, browserHash: Uint8Array | null, clockOffset: number) =>
  sql.query<LinkRow>(
    `select ${selectList<LinkRow>({ ...columns, is_this_browser: 'coalesce(browser_hash = $2, false)' })}
     from mail_sign_ins where token_hash = $1 and tries_left > 0 and code_tries_left > 0 and ${mailStillWorks('$3')}`,
    [tokenHash, browserHash, clockOffset],
  )

/** Using a sign-in up deletes its row, so of several requests at once only one succeeds. */
export const take = (sql: Sql, id: string, userId: string, clockOffset: number) =>
  sql.query(`delete from mail_sign_ins where id = $1 and user_id = $2 and ${mailStillWorks('$3')} returning id`, [
    id,
    userId,
    clockOffset,
  ])

/** Marks the address as proven. The browser gets a new token, because the former one did not stand for a proof. */
export const markProven = (
  sql: Sql,
  id: string,
  { browserHash, lifetime, clockOffset }: { browserHash: Uint8Array; lifetime: number; clockOffset: number },
) =>
  sql.query(
    `update mail_sign_ins set browser_hash = $2, proven_at = ${databaseMoment('$3')},
       expires_at = ${databaseMoment('$3')} + ${milliseconds('$4')}
     where id = $1 and email is not null and ${mailStillWorks('$3')} returning id`,
    [id, browserHash, clockOffset, lifetime],
  )

const isProvenInBrowser = `browser_hash = $1 and proven_at is not null and email is not null and ${isOpen('$2')}`

export const selectProven = (sql: Sql, browserHash: Uint8Array, clockOffset: number) =>
  sql.query<{ email: string }>(`select email from mail_sign_ins where ${isProvenInBrowser}`, [browserHash, clockOffset])

export const takeProven = (sql: Sql, browserHash: Uint8Array, clockOffset: number) =>
  sql.query<{ facts: unknown }>(`delete from mail_sign_ins where ${isProvenInBrowser} returning facts`, [
    browserHash,
    clockOffset,
  ])
