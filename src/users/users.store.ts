import type { Language } from '../contract/languages.js'
import type { FieldValues } from '../contract/profile-fields.js'
import type { ProviderId } from '../contract/providers.js'
import { type BuiltInField, builtInFieldNames } from '../contract/schemas.js'
import type { Sql } from '../platform/database/database.js'
import { databaseMoment, selectList } from '../platform/database/sql.js'
import { builtInColumns, type StoredBuiltInFields } from './built-in-fields.js'
import type { Email, Username } from './names.js'

export type UserRow = StoredBuiltInFields & {
  id: string
  email: string
  username: string
  password_hash: string | null
  provider: string | null
  /** The providers at which the user has an identity. */
  providers: string[]
  groups: string[]
  fields: FieldValues
  email_proven: boolean
  email_claimed: boolean
  first_factor_until: Date | null
  created_at: Date
  disabled_at: Date | null
  locked_down_at: Date | null
  password_distrusted: boolean
  undo_count: number
  has_signed_in: boolean
}

export type Identity = { provider: ProviderId; subject: string }

const columns = {
  id: true,
  email: true,
  username: true,
  ...builtInColumns,
  password_hash: true,
  provider: true,
  providers:
    'array(select identities.provider from identities where identities.user_id = users.id order by identities.provider)',
  groups: true,
  fields: true,
  email_proven: true,
  email_claimed: 'email_claimed and not email_proven',
  first_factor_until: true,
  created_at: true,
  disabled_at: true,
  locked_down_at: true,
  password_distrusted: true,
  undo_count: true,
  has_signed_in: 'first_signed_in_at is not null',
} as const
const userSelectList = selectList<UserRow>(columns)

export const selectById = (sql: Sql, id: string) =>
  sql.query<UserRow>(`select ${userSelectList} from users where id = $1`, [id])

/**
 * Lets one deletion run at a time. A mail can go to one user and be about another, and the deletion of either user writes its row. So two
 * deletions at once could wait for each other.
 */
export const waitForOtherDeletions = (sql: Sql) =>
  sql.query(`select pg_advisory_xact_lock(hashtextextended('deletion of a user', 0))`)

/** Until the transaction ends, no other transaction can change this user or write a row that refers to it. */
export const lockForDeletion = (sql: Sql, id: string) =>
  sql.query<UserRow>(`select ${userSelectList} from users where id = $1 for update`, [id])

/** Until the transaction ends, no other transaction can change this user. Rows that refer to the user can still be written. */
export const lockById = (sql: Sql, id: string) => sql.query('select 1 from users where id = $1 for no key update', [id])

export const selectByEmail = (sql: Sql, key: string) =>
  sql.query<UserRow>(`select ${userSelectList} from users where email_key = $1`, [key])

/** Until the transaction ends, the user is not deleted and keeps the address. */
export const holdByEmail = (sql: Sql, key: string) =>
  sql.query<UserRow>(`select ${userSelectList} from users where email_key = $1 for key share`, [key])

/** Locks the user who has the address, and the user for whom it is reserved. */
export const lockUsersOfAddress = (sql: Sql, key: string) =>
  sql.query(
    `select 1 from users where email_key = $1 or id in (select user_id from undos where email_key = $1)
     order by id for key share`,
    [key],
  )

/** The user for whom an undo of a changed email reserves the address. */
export const selectReservation = (sql: Sql, key: string, clockOffset: number) =>
  sql.query<{ user_id: string }>(
    `select user_id from undos where email_key = $1 and expires_at > ${databaseMoment('$2')} limit 1`,
    [key, clockOffset],
  )

/**
 * Deletes expired reservations before an address is used, because a trigger refuses every address that is in the table. The statement waits
 * for no lock: a deletion of a user holds such rows, and may wait for rows of the caller.
 */
export const releaseEmail = (sql: Sql, key: string, clockOffset: number) =>
  sql.query(
    `delete from undos where hash in
       (select hash from undos where email_key = $1 and expires_at <= ${databaseMoment('$2')} for update skip locked)`,
    [key, clockOffset],
  )

export const selectByUsername = (sql: Sql, key: string) =>
  sql.query<UserRow>(`select ${userSelectList} from users where username_key = $1`, [key])

export const selectByIdentity = (sql: Sql, { provider, subject }: Identity) =>
  sql.query<UserRow>(
    `select ${userSelectList} from users
     where id = (select user_id from identities where identities.provider = $1 and subject = $2)`,
    [provider, subject],
  )

/** The first number that makes the name free. `reserved` are names that no user may take. */
export const selectFreeSuffix = (sql: Sql, key: string, reserved: readonly string[], now: Date) =>
  sql.query<{ suffix: number | null }>(
    `select min(n)::int as suffix from generate_series(1, 500) as n,
       lateral (select case n when 1 then $1 else $1 || '-' || n end as wanted) as named
     where not exists (select 1 from users where username_key = wanted) and wanted <> all($2::text[])
       and not exists (select 1 from reserved_usernames where username_key = wanted and reserved_until > $3)`,
    [key, reserved, now],
  )

type InsertedUser = {
  id: string
  email: Email
  username: Username
  name: string | null
  language?: Language | undefined
  fields?: FieldValues
  now: Date
}

export const insert = (
  sql: Sql,
  {
    id,
    email,
    username,
    ...rest
  }: InsertedUser & { passwordHash: string | null; emailProven: boolean; emailClaimed: boolean },
) =>
  sql.query<UserRow>(
    `insert into users (id, email, email_key, username, username_key, name, password_hash, created_at, language, email_proven, email_claimed, fields)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12::jsonb) on conflict do nothing returning ${userSelectList}`,
    [
      ...[id, email.email, email.key, username.username, username.key],
      ...[rest.name, rest.passwordHash, rest.now, rest.language ?? null, rest.emailProven, rest.emailClaimed],
      rest.fields ?? {},
    ],
  )

/**
 * Inserts the account and its identity, or neither. An email or a username that is taken gives no row. An identity that another account got
 * meanwhile is a unique violation, which rolls back the account too.
 */
export const insertFromProvider = (
  sql: Sql,
  {
    id,
    email,
    username,
    name,
    identity,
    language,
    now,
    clockOffset,
  }: InsertedUser & { identity: Identity; clockOffset: number },
) =>
  sql.query<UserRow>(
    `with account as (
       insert into users (id, email, email_key, username, username_key, name, provider, created_at, language, email_proven)
       values ($1, $2, $3, $4, $5, $6, $7, $9, $11, true) on conflict do nothing
       returning ${selectList<UserRow>({ ...columns, providers: 'array[provider]' })}
     ), identity as (
       insert into identities (user_id, provider, subject, linked_at) select id, $7, $8, ${databaseMoment('$10')} from account
     )
     select ${selectList<UserRow>({ ...columns, providers: true, has_signed_in: true })} from account`,
    [
      ...[id, email.email, email.key, username.username, username.key, name, identity.provider, identity.subject],
      ...[now, clockOffset, language ?? null],
    ],
  )

/**
 * No row if a trigger refuses the address because it is reserved for another user. The former address is noted. If the owner was in doubt
 * after a lock-down, that was about the former address.
 */
export const updateEmail = (sql: Sql, userId: string, { email, key }: Email, isProven: boolean, now: Date) =>
  sql.query(
    `with before as (
       select id, email, email_key from users where id = $1
     ), changed as (
       update users set email = $2, email_key = $3, email_proven = $5, email_claimed = false,
         password_distrusted = password_distrusted and disabled_at is not null
       from before where users.id = before.id
       returning users.id, before.email as former, before.email_key as former_key
     ), noted as (
       insert into former_emails (user_id, email, replaced_at) select id, former, $4 from changed where former_key <> $3
     )
     select id from changed`,
    [userId, email, key, now, isProven],
  )

export const proveEmail = (sql: Sql, userId: string) =>
  sql.query('update users set email_proven = true, email_claimed = false where id = $1 and not email_proven', [userId])

type FormerEmailRow = { email: string; replaced_at: Date }
export const selectFormerEmails = (sql: Sql, userId: string) =>
  sql.query<FormerEmailRow>(
    `select ${selectList<FormerEmailRow>({ email: true, replaced_at: true })} from former_emails
     where user_id = $1 order by replaced_at, ctid`,
    [userId],
  )

export const openEnrolment = (sql: Sql, userId: string, until: Date) =>
  sql.query('update users set first_factor_until = $2 where id = $1', [userId, until])

/** The new `undo_count` keeps sign-ins that began before from getting a session. */
export const takeBack = (sql: Sql, userId: string, passwordHash: string | null) =>
  sql.query(
    'update users set password_hash = $2, password_distrusted = false, undo_count = undo_count + 1 where id = $1',
    [userId, passwordHash],
  )

export const updatePassword = (sql: Sql, userId: string, passwordHash: string | null) =>
  sql.query(
    `update users set password_hash = $2::text, password_distrusted = password_distrusted and $2::text is null
     where id = $1`,
    [userId, passwordHash],
  )

/** A language that the account already has stays. No row if there was nothing to note. */
export const noteSignIn = (sql: Sql, userId: string, now: Date, language: Language | null) =>
  sql.query<{ is_first: boolean }>(
    `update users set first_signed_in_at = coalesce(first_signed_in_at, $2), language = coalesce(language, $3)
     where id = $1 and (first_signed_in_at is null or (language is null and $3::text is not null))
     returning first_signed_in_at = $2 as is_first`,
    [userId, now, language],
  )

/**
 * Stores a stronger hash of the same password, only if the hash is still the one that was checked. A password that was changed meanwhile
 * stays.
 */
export const replaceHash = (sql: Sql, userId: string, oldHash: string, newHash: string) =>
  sql.query('update users set password_hash = $3 where id = $1 and password_hash = $2 returning id', [
    userId,
    oldHash,
    newHash,
  ])

const withOneField = builtInFieldNames.map((name) => `${name} = case $2::text when '${name}' then $3 else ${name} end`)
export const updateBuiltInField = (sql: Sql, userId: string, field: BuiltInField, value: string | null) =>
  sql.query(`update users set ${withOneField.join(', ')} where id = $1`, [userId, field, value])

/** Triggers delete the rest (see `forget_user` in the migrations). */
export const deleteUser = (sql: Sql, userId: string) =>
  sql.query('delete from users where id = $1 returning id', [userId])

export const selectIdentity = (sql: Sql, userId: string, { provider, subject }: Identity) =>
  sql.query('select 1 from identities where user_id = $1 and provider = $2 and subject = $3', [
    userId,
    provider,
    subject,
  ])

export const lockDown = (sql: Sql, userId: string, now: Date) =>
  sql.query(
    `update users set disabled_at = $2, locked_down_at = $2, password_distrusted = true, first_factor_until = null
     where id = $1`,
    [userId, now],
  )

export const enable = (sql: Sql, userId: string, isOwnerInDoubt: boolean) =>
  sql.query('update users set disabled_at = null, locked_down_at = null, password_distrusted = $2 where id = $1', [
    userId,
    isOwnerInDoubt,
  ])

export const disable = (sql: Sql, userId: string, now: Date) =>
  sql.query('update users set disabled_at = $2 where id = $1', [userId, now])

/** Whether another user has the name, or had it a short time ago. */
export const selectHolder = (sql: Sql, key: string, userId: string | null, now: Date) =>
  sql.query(
    `select 1 from users where username_key = $1 and id is distinct from $2
     union all
     select 1 from reserved_usernames
     where username_key = $1 and user_id is distinct from $2 and reserved_until > $3 limit 1`,
    [key, userId, now],
  )

/** Deletes expired reservations before a name is used, because a trigger refuses every name that is in the table. */
export const deleteExpired = (sql: Sql, keys: readonly string[], now: Date) =>
  sql.query('delete from reserved_usernames where username_key = any($1::text[]) and reserved_until <= $2', [keys, now])

/** The user who had this name until a short time ago. */
export const selectFormerOwner = (sql: Sql, key: string, now: Date) =>
  sql.query<{ user_id: string }>(
    'select user_id from reserved_usernames where username_key = $1 and reserved_until > $2',
    [key, now],
  )

export type ReservedRow = { username_key: string; username: string; reserved_until: Date; counts: boolean }

export const selectOfUser = (sql: Sql, userId: string, now: Date) =>
  sql.query<ReservedRow>(
    `select username_key, username, reserved_until, counts from reserved_usernames
     where user_id = $1 and reserved_until > $2 order by reserved_until`,
    [userId, now],
  )

export const updateUsername = (sql: Sql, userId: string, { username, key }: Username) =>
  sql.query('update users set username = $2, username_key = $3 where id = $1', [userId, username, key])

export const reserve = (sql: Sql, userId: string, { username, key }: Username, until: Date) =>
  sql.query(
    `insert into reserved_usernames (username_key, user_id, reserved_until, username) values ($1, $2, $3, $4)
     on conflict (username_key) do update set user_id = excluded.user_id, reserved_until = excluded.reserved_until,
       username = excluded.username, counts = true`,
    [key, userId, until, username],
  )

export const deleteReservation = (sql: Sql, userId: string, key: string) =>
  sql.query('delete from reserved_usernames where user_id = $1 and username_key = $2', [userId, key])

export const stopCounting = (sql: Sql, userId: string, from: Date) =>
  sql.query('update reserved_usernames set counts = false where user_id = $1 and reserved_until >= $2', [userId, from])

export const updateFields = (sql: Sql, userId: string, fields: FieldValues) =>
  sql.query('update users set fields = $2::jsonb where id = $1', [userId, fields])

/** Reads the whole table. */
export const countByKey = (sql: Sql) =>
  sql.query<{ key: string; users: number }>(
    `select key, count(*)::int as users from users, jsonb_object_keys(users.fields) as key
     where users.fields <> '{}' group by key order by key`,
  )

export const removeKey = (sql: Sql, key: string, limit: number) =>
  sql.query<{ id: string }>(
    `update users set fields = fields - $1::text where id in (
       select id from users where jsonb_exists(fields, $1::text) order by id limit $2 for no key update
     ) returning id`,
    [key, limit],
  )

type AgreedRow = { version: string; agreed_at: Date }

export const selectAgreed = (sql: Sql, userId: string, version: string) =>
  sql.query('select 1 from agreed_terms where user_id = $1 and version = $2', [userId, version])

/** An agreement that exists keeps its time. */
export const insertAgreed = (sql: Sql, userId: string, version: string, at: Date) =>
  sql.query(
    'insert into agreed_terms (user_id, version, agreed_at) values ($1, $2, $3) on conflict (user_id, version) do nothing',
    [userId, version, at],
  )

export const selectAllOfUser = (sql: Sql, userId: string) =>
  sql.query<AgreedRow>(
    `select ${selectList<AgreedRow>({ version: true, agreed_at: true })} from agreed_terms
     where user_id = $1 order by agreed_at, version`,
    [userId],
  )
