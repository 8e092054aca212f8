import type { Sql } from '../platform/database/database.js'
import { databaseMoment, selectList } from '../platform/database/sql.js'
import type { Identity } from '../users/users.js'

/**
 * No row if the user already has an identity at the provider, or another user has the identity. Of two inserts at once, the second waits
 * and gets no row.
 */
export const insertIdentity = (sql: Sql, userId: string, { provider, subject }: Identity, clockOffset: number) =>
  sql.query(
    `insert into identities (user_id, provider, subject, linked_at)
     select id, $2, $3, ${databaseMoment('$4')} from users where id = $1 for key share
     on conflict do nothing returning user_id`,
    [userId, provider, subject, clockOffset],
  )

/** Stores the email that the provider has for the account now. */
export const updateIdentityEmail = (sql: Sql, { provider, subject }: Identity, email: string) =>
  sql.query('update identities set email = $3 where provider = $1 and subject = $2 and email is distinct from $3', [
    provider,
    subject,
    email,
  ])

/** Removes the identities that are still linked, and remembers all of them as undone. */
export const undoIdentities = (sql: Sql, userId: string, undone: readonly Identity[], now: Date) =>
  sql.query(
    `with given as (
       select $1::uuid as user_id, * from unnest($2::text[], $3::text[]) as identity (provider, subject)
     ), removed as (
       delete from identities where (user_id, provider, subject) in (select * from given)
     )
     insert into undone_identities (user_id, provider, subject, undone_at)
     select distinct user_id, provider, subject, $4::timestamptz from given
     on conflict (user_id, provider, subject) do update set undone_at = excluded.undone_at`,
    [userId, undone.map(({ provider }) => provider), undone.map(({ subject }) => subject), now],
  )

export const selectUndone = (sql: Sql, userId: string, { provider, subject }: Identity) =>
  sql.query('select 1 from undone_identities where user_id = $1 and provider = $2 and subject = $3', [
    userId,
    provider,
    subject,
  ])

export const forgetUndone = (sql: Sql, userId: string, { provider, subject }: Identity) =>
  sql.query('delete from undone_identities where user_id = $1 and provider = $2 and subject = $3', [
    userId,
    provider,
    subject,
  ])

type UndoneRow = { provider: string; subject: string; undone_at: Date }
export const selectAllUndone = (sql: Sql, userId: string) =>
  sql.query<UndoneRow>(
    `select ${selectList<UndoneRow>({ provider: true, subject: true, undone_at: true })} from undone_identities
     where user_id = $1 order by undone_at, provider, subject`,
    [userId],
  )

type IdentityRow = { provider: string; subject: string; email: string | null; linked_at: Date }

export const selectIdentities = (sql: Sql, userId: string) =>
  sql.query<IdentityRow>(
    `select ${selectList<IdentityRow>({ provider: true, subject: true, email: true, linked_at: true })} from identities
     where user_id = $1 order by provider`,
    [userId],
  )
