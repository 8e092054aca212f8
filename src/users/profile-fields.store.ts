import type { FieldValues } from '../contract/profile-fields.js'
import type { Sql } from '../platform/database/database.js'

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
