import type { Sql } from '../../platform/database/database.js'
import type { ImportedUser } from './imported-user.js'
import type { ProviderId } from './users.js'

export type ListedUser = {
  id: string
  email: string
  username: string
  name: string | null
  password_hash: string | null
  provider: ProviderId | null
  provider_a_id: string | null
  provider_b_id: string | null
  created_at: Date
  disabled: boolean
}

/** One statement for the whole batch; whoever stands in the way of a unique value is passed over. */
export const insertMany = (sql: Sql, users: readonly ImportedUser[]) =>
  sql.query<{ email_key: string }>(
    `insert into users (id, email, email_key, username, username_key, name, password_hash, provider, provider_a_id,
       provider_b_id, created_at, disabled_at)
     select * from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[],
       $9::text[], $10::text[], $11::timestamptz[], $12::timestamptz[])
     on conflict do nothing returning email_key`,
    [
      users.map((user) => user.id),
      users.map((user) => user.email.email),
      users.map((user) => user.email.key),
      users.map((user) => user.username.username),
      users.map((user) => user.username.key),
      users.map((user) => user.name),
      users.map((user) => user.passwordHash),
      users.map((user) => user.provider),
      users.map((user) => user.providerAId),
      users.map((user) => user.providerBId),
      users.map((user) => user.createdAt),
      users.map((user) => user.disabledAt),
    ],
  )

export type TakenKeys = { emails: string[]; usernames: string[] }

export const selectTaken = (sql: Sql, keys: TakenKeys) =>
  sql.query<{ email_key: string; username_key: string }>(
    `select email_key, username_key from users where email_key = any($1::text[])
     union select email_key, username_key from users where username_key = any($2::text[])`,
    [keys.emails, keys.usernames],
  )

/** By key and not by offset: the thousandth page costs what the first does, and nobody is shown twice or missed. */
export const selectPage = (sql: Sql, after: string, limit: number) =>
  sql.query<ListedUser>(
    `select id, email, username, name, password_hash, provider, provider_a_id, provider_b_id, created_at,
       disabled_at is not null as disabled
     from users where id > $1 order by id limit $2`,
    [after, limit],
  )
