import { mostGroups } from '../../contract/groups.js'
import { refuse } from '../../contract/outcome.js'
import type { Clock } from '../../lib/clock.js'
import type { Database, Sql, Transaction } from '../../platform/database/database.js'
import * as store from './groups.store.js'

export type Group = { name: string; createdAt: Date; members: number }
/** Names that are there already are not added, and those that are not there are not removed. */
export type GroupChange = { add?: readonly string[]; remove?: readonly string[] }

export type Groups = ReturnType<typeof createGroups>

/**
 * A group is a name and its members. The names stand in the row of each member: a sign-in that waits for that row sees them as
 * they are then, and the token is made from one row.
 */
export const createGroups = ({ database, clock }: { database: Database; clock: Clock }) => ({
  /** False if it is there already. */
  add: async (name: string) => (await store.insertGroup(database, name, clock.now())).length > 0,

  list: async (): Promise<Group[]> =>
    (await store.selectGroups(database)).map(({ name, created_at, members }) => ({
      name,
      createdAt: created_at,
      members,
    })),

  /** Of a user whose row the caller holds. `joined` and `left` are what has really changed. */
  change: async (
    sql: Transaction,
    user: { id: string; groups: readonly string[] },
    { add = [], remove = [] }: GroupChange,
  ) => {
    const held = (await store.holdGroups(sql, [...add, ...remove])).map(({ name }) => name)
    const unknown = [...add, ...remove].find((name) => !held.includes(name))
    if (unknown !== undefined) return refuse('no_group', { group: unknown })
    const joined = [...new Set(add)].filter((name) => !user.groups.includes(name)).sort()
    const left = [...new Set(remove)].filter((name) => user.groups.includes(name)).sort()
    const groups = [...user.groups, ...joined].filter((name) => !left.includes(name)).sort()
    if (groups.length > mostGroups) return refuse('too_many_groups')
    if (joined.length + left.length > 0) await store.updateGroupsOfUser(sql, user.id, groups)
    return { joined, left, groups }
  },

  /** To a new user, those that are still there. */
  giveTo: async (sql: Sql, userId: string, names: readonly string[]) => {
    const held = (await store.holdGroups(sql, names)).map(({ name }) => name)
    if (held.length > 0) await store.updateGroupsOfUser(sql, userId, held)
  },

  /** Ids of some members, who stay as they are until the transaction ends. */
  lockMembers: async (sql: Transaction, name: string, limit: number) =>
    (await store.lockMembers(sql, name, limit)).map(({ id }) => id),

  /** Refused while it has members. */
  remove: (name: string) =>
    database.transaction(async (sql) => {
      if ((await store.lockGroup(sql, name)).length === 0) return refuse('no_group')
      if ((await store.lockMembers(sql, name, 1)).length > 0) return refuse('has_members')
      await store.deleteGroup(sql, name)
      return undefined
    }),
})
