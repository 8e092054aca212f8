import type { Sql } from '../../platform/database/database.js'
import type { Email } from './email.js'
import type { Username } from './username.js'
import type { ProviderId } from './users.js'

export type UserRow = {
  id: string
  email: string
  username: string
  name: string | null
  password_hash: string | null
  provider: ProviderId | null
  provider_a_id: string | null
  provider_b_id: string | null
  created_at: Date
  disabled_at: Date | null
}

const columns =
  'id, email, username, name, password_hash, provider, provider_a_id, provider_b_id, created_at, disabled_at'

/** The one place where a provider becomes a column: the names never come from outside. */
const idColumn: Record<ProviderId, string> = { provider_a: 'provider_a_id', provider_b: 'provider_b_id' }

export const selectById = (sql: Sql, id: string) =>
  sql.query<UserRow>(`select ${columns} from users where id = $1`, [id])

/** Until the transaction ends nobody else changes this user. Rows that refer to the user can still be written. */
export const lockById = (sql: Sql, id: string) =>
  sql.query<UserRow>(`select ${columns} from users where id = $1 for no key update`, [id])

export const selectByEmail = (sql: Sql, key: string) =>
  sql.query<UserRow>(`select ${columns} from users where email_key = $1`, [key])

export const selectByUsername = (sql: Sql, key: string) =>
  sql.query<UserRow>(`select ${columns} from users where username_key = $1`, [key])

export const selectByProvider = (sql: Sql, provider: ProviderId, providerId: string) =>
  sql.query<UserRow>(`select ${columns} from users where ${idColumn[provider]} = $1`, [providerId])

export const selectFreeSuffix = (sql: Sql, key: string) =>
  sql.query<{ suffix: number | null }>(
    `select min(n)::int as suffix from generate_series(1, 500) as n
     where not exists (select 1 from users where username_key = case n when 1 then $1 else $1 || '-' || n end)`,
    [key],
  )

export const insertWithPassword = (
  sql: Sql,
  user: { id: string; name: string | null; passwordHash: string; now: Date } & Email & { username: Username },
) =>
  sql.query<UserRow>(
    `insert into users (id, email, email_key, username, username_key, name, password_hash, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict do nothing returning ${columns}`,
    [user.id, user.email, user.key, user.username.username, user.username.key, user.name, user.passwordHash, user.now],
  )

export const insertFromProvider = (
  sql: Sql,
  user: { id: string; name: string | null; provider: ProviderId; providerId: string; now: Date } & Email & {
      username: Username
    },
) =>
  sql.query<UserRow>(
    `insert into users (id, email, email_key, username, username_key, name, provider, ${idColumn[user.provider]}, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9) on conflict do nothing returning ${columns}`,
    [
      user.id,
      user.email,
      user.key,
      user.username.username,
      user.username.key,
      user.name,
      user.provider,
      user.providerId,
      user.now,
    ],
  )

export const updateProvider = (sql: Sql, userId: string, provider: ProviderId, providerId: string) =>
  sql.query<{ id: string }>(
    `update users set ${idColumn[provider]} = $2 where id = $1 and ${idColumn[provider]} is null
     and not exists (select 1 from users where ${idColumn[provider]} = $2) returning id`,
    [userId, providerId],
  )

/** Removes a provider only while another way in remains, in one statement: two at once cannot remove both. */
export const clearProvider = (sql: Sql, userId: string, provider: ProviderId) => {
  const others = Object.values(idColumn).filter((column) => column !== idColumn[provider])
  const waysIn = ['password_hash', ...others].map((column) => `${column} is not null`).join(' or ')
  return sql.query<{ id: string }>(
    `update users set ${idColumn[provider]} = null where id = $1 and ${idColumn[provider]} is not null
     and (${waysIn}) returning id`,
    [userId],
  )
}

export const updatePassword = (sql: Sql, userId: string, passwordHash: string) =>
  sql.query('update users set password_hash = $2 where id = $1', [userId, passwordHash])

/** Only while the hash is the one that was checked: a password that was changed meanwhile stays. */
export const replacePassword = (sql: Sql, userId: string, oldHash: string, newHash: string) =>
  sql.query('update users set password_hash = $3 where id = $1 and password_hash = $2 returning id', [
    userId,
    oldHash,
    newHash,
  ])

export const updateDisabled = (sql: Sql, userId: string, disabledAt: Date | null) =>
  sql.query<{ id: string }>('update users set disabled_at = $2 where id = $1 returning id', [userId, disabledAt])
