import type { Sql } from '../../platform/database/database.js'
import { selectList } from '../../platform/database/select-list.js'

export type GroupRow = { name: string; created_at: Date; members: number }

/** No row if it is there already. */
export const insertGroup = (sql: Sql, name: string, now: Date) =>
  sql.query<{ name: string }>(
    'insert into groups (name, created_at) values ($1, $2) on conflict do nothing returning name',
    [name, now],
  )

export const selectGroups = (sql: Sql) =>
  sql.query<GroupRow>(
    `select ${selectList<GroupRow>({
      name: true,
      created_at: true,
      members: '(select count(*) from users where users.groups @> array[groups.name])::int',
    })} from groups order by name`,
  )

/** Those of the names that are there. They are not deleted before the transaction ends. */
export const holdGroups = (sql: Sql, names: readonly string[]) =>
  sql.query<{ name: string }>('select name from groups where name = any($1::text[]) order by name for key share', [
    names,
  ])

/** No user joins it before the transaction ends. */
export const lockGroup = (sql: Sql, name: string) =>
  sql.query<{ name: string }>('select name from groups where name = $1 for update', [name])

export const deleteGroup = (sql: Sql, name: string) => sql.query('delete from groups where name = $1', [name])

/** Always in the same order, so that two who do this do not wait for each other. */
export const lockMembers = (sql: Sql, name: string, limit: number) =>
  sql.query<{ id: string }>(
    'select id from users where groups @> array[$1::text] order by id limit $2 for no key update',
    [name, limit],
  )

export const updateGroupsOfUser = (sql: Sql, userId: string, groups: readonly string[]) =>
  sql.query('update users set groups = $2 where id = $1', [userId, groups])
