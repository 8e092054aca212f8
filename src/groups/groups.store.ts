import type { Sql } from '../platform/database/database.js'
import { selectList } from '../platform/database/sql.js'

type GroupRow = { name: string; created_at: Date; members: number; set_by_file: string | null }

/** The second condition lets the database use its index, which only has users who are in a group. */
const isIn = (group: string) => `(users.groups @> array[${group}] and users.groups <> '{}')`

/** No row if the group exists already. */
export const insertGroup = (sql: Sql, name: string, now: Date) =>
  sql.query('insert into groups (name, created_at) values ($1, $2) on conflict do nothing returning name', [name, now])

export const selectGroups = (sql: Sql) =>
  sql.query<GroupRow>(
    `select ${selectList<GroupRow>({
      name: true,
      created_at: true,
      members: `(select count(*) from users where ${isIn('groups.name')})::int`,
      set_by_file: true,
    })} from groups order by name`,
  )

/** Every group, with the file that owns it. No other file changes that before the transaction ends. */
export const selectOwners = (sql: Sql) =>
  sql.query<{ name: string; set_by_file: string | null }>('select name, set_by_file from groups order by name')

export const updateOwner = (sql: Sql, name: string, file: string | null) =>
  sql.query('update groups set set_by_file = $2 where name = $1', [name, file])

/** The groups among these names that existed at that time. They cannot be deleted before the transaction ends. */
export const holdGroups = (sql: Sql, names: readonly string[], existedAt: Date) =>
  sql.query<{ name: string }>(
    'select name from groups where name = any($1::text[]) and created_at <= $2 order by name for key share',
    [names, existedAt],
  )

/** Locks the group: no user can join it before the transaction ends. */
export const lockGroup = (sql: Sql, name: string) =>
  sql.query<{ set_by_file: string | null }>('select set_by_file from groups where name = $1 for update', [name])

export const deleteGroup = (sql: Sql, name: string) => sql.query('delete from groups where name = $1', [name])

/** The applications that let the members of the group in. An application that wants to name the group must hold its row. */
export const selectApplications = (sql: Sql, name: string) =>
  sql.query<{ name: string }>('select name from applications where $1 = any(groups) order by name', [name])

/**
 * Finds a member without a lock. Joining needs the row of the group, which the caller has locked, and the caller should not wait for a user
 * who leaves.
 */
export const selectMember = (sql: Sql, name: string) =>
  sql.query(`select id from users where ${isIn('$1::text')} limit 1`, [name])

/** Locks members always in the same order, so that two transactions do not wait for each other. */
export const lockMembers = (sql: Sql, name: string, limit: number) =>
  sql.query<{ id: string }>(`select id from users where ${isIn('$1::text')} order by id limit $2 for no key update`, [
    name,
    limit,
  ])

export const updateGroupsOfUser = (sql: Sql, userId: string, groups: readonly string[]) =>
  sql.query('update users set groups = $2 where id = $1', [userId, groups])
