import type { Language } from '../contract/languages.js'
import type { FieldValues } from '../contract/profile-fields.js'
import type { Sql } from '../platform/database/database.js'
import { forgottenKey, selectList } from '../platform/database/sql.js'

export type PendingRow = {
  id: string
  /** Empty if the account of this address was deleted since (see `forget_registrations` in the migrations). */
  email: string
  username: string
  name: string | null
  password_hash: string
  token_hash: Uint8Array
  expires_at: Date
  confirmed: boolean
  language: string | null
  /** The application from which the user came to the registration. */
  application_id: string | null
  fields: FieldValues
  terms_version: string | null
}

const pendingColumns = {
  id: true,
  email: true,
  username: true,
  name: true,
  password_hash: true,
  token_hash: true,
  expires_at: true,
  confirmed: 'confirmed_at is not null',
  language: true,
  application_id: true,
  fields: true,
  terms_version: true,
} as const
const pendingSelectList = selectList<PendingRow>(pendingColumns)

/** Whether this browser began the registration. */
const isOfBrowser = (parameter: string) => `browser_hashes @> array[${parameter}::bytea]`

export const insertPending = (
  sql: Sql,
  registration: {
    id: string
    email: string
    emailKey: string
    username: string
    usernameKey: string
    name: string | null
    passwordHash: string
    tokenHash: Uint8Array
    browserHash: Uint8Array
    tries: number
    expiresAt: Date
    invitationHash: Uint8Array | null
    language: Language | null
    applicationId: string | null
    fields: FieldValues
    termsVersion: string | null
  },
) =>
  sql.query(
    `insert into pending_registrations
       (id, email, email_key, username, username_key, name, password_hash, token_hash, browser_hashes,
        code_tries_left, password_tries_left, expires_at, invitation_hash, language, application_id, fields, terms_version)
     values ($1, $2, $3, $4, $5, $6, $7, $8, array[$9::bytea], $10, $10, $11, $12, $13, $14, $15::jsonb, $16)`,
    [
      registration.id,
      registration.email,
      registration.emailKey,
      registration.username,
      registration.usernameKey,
      registration.name,
      registration.passwordHash,
      registration.tokenHash,
      registration.browserHash,
      registration.tries,
      registration.expiresAt,
      registration.invitationHash,
      registration.language,
      registration.applicationId,
      registration.fields,
      registration.termsVersion,
    ],
  )

type BoundRow = PendingRow & { is_this_browser: boolean }
type TriedRow = PendingRow & { code_tries_left: number }
const triedSelectList = selectList<TriedRow>({ ...pendingColumns, code_tries_left: true })

/** Finds a registration by the link of its newest mail or of an older one. The caller compares the hash to see which. */
export const selectByToken = (sql: Sql, tokenHash: Uint8Array, browserHash: Uint8Array | null, now: Date) =>
  sql.query<BoundRow>(
    `select ${selectList<BoundRow>({ ...pendingColumns, is_this_browser: isOfBrowser('$2') })} from pending_registrations
     where (token_hash = $1 or older_token_hashes @> array[$1::bytea]) and expires_at > $3`,
    [tokenHash, browserHash, now],
  )

/** The newest registration that this browser began. */
export const selectByBrowser = (sql: Sql, browserHash: Uint8Array, now: Date) =>
  sql.query<TriedRow>(
    `select ${triedSelectList} from pending_registrations where ${isOfBrowser('$1')} and expires_at > $2 order by id desc limit 1`,
    [browserHash, now],
  )

/** The most secrets of its browser that a registration keeps: one for each time that it was begun again. */
const maxBrowserHashes = 10

/** Ties the earlier registrations of this browser for the same email to its new secret. */
export const bindNewSecret = (
  sql: Sql,
  { emailKey, formerHash, newHash }: { emailKey: string; formerHash: Uint8Array; newHash: Uint8Array },
  now: Date,
) =>
  sql.query(
    `update pending_registrations set browser_hashes = browser_hashes || $3::bytea where id in (
       select id from pending_registrations
       where ${isOfBrowser('$2')} and email_key in ($1, ${forgottenKey('$1::text')}) and expires_at > $4 and confirmed_at is null
         and cardinality(browser_hashes) < ${maxBrowserHashes}
       order by id for update
     )`,
    [emailKey, formerHash, newHash, now],
  )

export const markNotMailed = (sql: Sql, id: string) =>
  sql.query('update pending_registrations set mailed = false where id = $1', [id])

/** Whether a newer mail went to the same email. */
export const selectNewer = (sql: Sql, id: string, now: Date) =>
  sql.query(
    `select 1 from pending_registrations as mine
     join pending_registrations as newer on newer.email_key = mine.email_key and newer.id > mine.id
     where mine.id = $1 and newer.expires_at > $2 and newer.mailed limit 1`,
    [id, now],
  )

type KeyColumn = 'email_key' | 'username_key'

/** Several registrations may wait for one email or name, because none of them reserves it. The newest one counts. */
const selectNewest = (sql: Sql, column: KeyColumn, key: string, now: Date) =>
  sql.query<PendingRow>(
    `select ${pendingSelectList} from pending_registrations
     where ${column} = $1 and expires_at > $2 and confirmed_at is null order by id desc limit 1`,
    [key, now],
  )
export const selectNewestByEmail = (sql: Sql, key: string, now: Date) => selectNewest(sql, 'email_key', key, now)
export const selectNewestByUsername = (sql: Sql, key: string, now: Date) => selectNewest(sql, 'username_key', key, now)

/** The waiting registration that this browser began with this email or name, even after its account was deleted. */
const selectOwn = (sql: Sql, column: KeyColumn, key: string, browserHash: Uint8Array, now: Date) =>
  sql.query<PendingRow>(
    `select ${pendingSelectList} from pending_registrations
     where ${isOfBrowser('$2')} and ${column} in ($1, ${forgottenKey('$1::text')}) and expires_at > $3 and confirmed_at is null
     order by id desc limit 1`,
    [key, browserHash, now],
  )
export const selectOwnByEmail = (sql: Sql, key: string, browserHash: Uint8Array, now: Date) =>
  selectOwn(sql, 'email_key', key, browserHash, now)
export const selectOwnByUsername = (sql: Sql, key: string, browserHash: Uint8Array, now: Date) =>
  selectOwn(sql, 'username_key', key, browserHash, now)

/** Counts a try before the password is compared, so that parallel guesses cannot exceed the tries. */
export const spendTryByToken = (sql: Sql, tokenHash: Uint8Array, now: Date) =>
  sql.query<PendingRow>(
    `update pending_registrations set password_tries_left = password_tries_left - 1
     where token_hash = $1 and expires_at > $2 and password_tries_left > 0 and confirmed_at is null returning ${pendingSelectList}`,
    [tokenHash, now],
  )

/**
 * Counts a try before the code is compared, for every registration that this browser began: the code may be from an earlier mail. The
 * newest comes first. When the tries are used up, the links still work.
 */
export const spendTryByBrowser = (sql: Sql, browserHash: Uint8Array, now: Date) =>
  sql.query<TriedRow>(
    `with spent as (
       update pending_registrations set code_tries_left = code_tries_left - 1 where id in (
         select id from pending_registrations
         where ${isOfBrowser('$1')} and expires_at > $2 and code_tries_left > 0 and confirmed_at is null
         order by id for update
       ) returning *
     )
     select ${triedSelectList} from spent order by id desc`,
    [browserHash, now],
  )

type LockedRow = TriedRow & { invitation_hash: Uint8Array | null }

export const lockWaiting = (sql: Sql, id: string, now: Date) =>
  sql.query<LockedRow>(
    `select ${selectList<LockedRow>({ ...pendingColumns, code_tries_left: true, invitation_hash: true })} from pending_registrations
     where id = $1 and expires_at > $2 and confirmed_at is null for update`,
    [id, now],
  )

export const replaceToken = (sql: Sql, id: string, tokenHash: Uint8Array) =>
  sql.query(
    `update pending_registrations
     set older_token_hashes = older_token_hashes || token_hash, token_hash = $2, mailed = true where id = $1`,
    [id, tokenHash],
  )

/** Deletes the hash of the password and the fields, which the account has now: a second copy would be a risk. */
export const markConfirmed = (sql: Sql, id: string, now: Date) =>
  sql.query(`update pending_registrations set confirmed_at = $2, password_hash = '', fields = '{}' where id = $1`, [
    id,
    now,
  ])

type DatedRow = { email: string; confirmed_at: Date | null; expires_at: Date }

export const selectOfEmails = (sql: Sql, keys: readonly string[], now: Date) =>
  sql.query<DatedRow>(
    `select ${selectList<DatedRow>({ email: true, confirmed_at: true, expires_at: true })} from pending_registrations
     where email_key = any($1::text[]) and expires_at > $2 order by id`,
    [keys, now],
  )
