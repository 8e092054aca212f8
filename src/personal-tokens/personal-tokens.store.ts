import type { Sql } from '../platform/database/database.js'
import { databaseMoment, databaseNow, milliseconds, selectList } from '../platform/database/sql.js'

export type TokenRow = {
  id: string
  name: string
  /** Each with its name, in the order of the names. */
  applications: { id: string; name: string }[]
  created_at: Date
  expires_at: Date
  last_used_at: Date | null
}

const tokenColumns = selectList<TokenRow>({
  id: true,
  name: true,
  applications: `(select coalesce(json_agg(json_build_object('id', a.id, 'name', a.name) order by lower(a.name)), '[]')
    from applications as a where a.id = any(personal_tokens.applications))`,
  created_at: true,
  expires_at: true,
  last_used_at: true,
})

export const selectOfUser = (sql: Sql, userId: string, clockOffset: number) =>
  sql.query<TokenRow>(
    `select ${tokenColumns} from personal_tokens where user_id = $1 and expires_at > ${databaseNow('$2')} order by id desc`,
    [userId, clockOffset],
  )

export const insert = (
  sql: Sql,
  token: {
    id: string
    userId: string
    name: string
    hash: Uint8Array
    applications: readonly string[]
    lifetime: number
    clockOffset: number
  },
) =>
  sql.query(
    `insert into personal_tokens (id, user_id, name, hash, applications, created_at, expires_at)
     select $1, $2, $3, $4, $5, now_here, now_here + ${milliseconds('$6')} from (select ${databaseMoment('$7')} as now_here) as this`,
    [token.id, token.userId, token.name, token.hash, token.applications, token.lifetime, token.clockOffset],
  )

export const remove = (sql: Sql, userId: string, id: string) =>
  sql.query<{ name: string }>('delete from personal_tokens where user_id = $1 and id = $2 returning name', [userId, id])

/** A token with what applications are told of its user. */
export type KnownRow = {
  id: string
  generation: number
  applications: string[]
  expires_at: Date
  last_used_at: Date | null
  user_id: string
  username: string
  name: string | null
  email: string
  groups: string[]
}

const knownColumns = selectList<KnownRow>({
  id: 't.id',
  generation: 't.generation',
  applications: 't.applications',
  expires_at: 't.expires_at',
  last_used_at: 't.last_used_at',
  user_id: 't.user_id',
  username: 'u.username',
  name: 'u.name',
  email: 'u.email',
  groups: 'u.groups',
})

export const selectByHash = (sql: Sql, hash: Uint8Array, clockOffset: number) =>
  sql.query<KnownRow>(
    `select ${knownColumns} from personal_tokens as t join users as u on u.id = t.user_id
     where t.hash = $1 and t.expires_at > ${databaseNow('$2')} and u.disabled_at is null`,
    [hash, clockOffset],
  )

/** Several instances may see the same token at the same time. */
export const noteUse = (sql: Sql, id: string, interval: number, clockOffset: number) =>
  sql.query(
    `update personal_tokens set last_used_at = ${databaseNow('$3')}
     where id = $1 and (last_used_at is null or last_used_at <= ${databaseNow('$3')} - ${milliseconds('$2')})`,
    [id, interval, clockOffset],
  )

export const removeAll = (sql: Sql, limit: number) =>
  sql.query('delete from personal_tokens where id = any(array(select id from personal_tokens limit $1)) returning id', [
    limit,
  ])
