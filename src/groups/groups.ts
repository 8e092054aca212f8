import { maxGroups } from '../contract/groups.js'
import { refuse } from '../contract/outcome.js'
import type { Client } from '../http/request-origin.js'
import type { Clock } from '../lib/clock.js'
import type { MessagesRoom } from '../messages/open-messages.js'
import type { Sql, Transaction } from '../platform/database/database.js'
import type { Platform } from '../platform/platform.js'
import type { SessionsRoom } from '../sessions/open-sessions.js'
import * as store from './groups.store.js'

/** `setByFile`: the configuration file that owns it. */
export type Group = { name: string; createdAt: Date; members: number; setByFile: string | undefined }

/** Groups that the user is already in are not added again, and groups that the user is not in are not removed. */
export type GroupChange = { add?: readonly string[]; remove?: readonly string[] }

type Rooms = SessionsRoom & MessagesRoom

/** The username that needs the most bytes in a token: 64 characters of 4 bytes each. */
const longestUsername = '\u{20000}'.repeat(64)

/** The usual message of the refusal is about the length of the access token. */
const tooManyByNumber = () => refuse('too_many_groups', { message: `A user can be in at most ${maxGroups} groups` })

/** Deletes a group. Refused while an application or a setting names it, while it has members, and to others than the file that owns it. */
const removeInside = async (
  sql: Transaction,
  { events, administrators }: Pick<Rooms, 'events' | 'administrators'>,
  name: string,
  client: Client,
) => {
  const [group] = await store.lockGroup(sql, name)
  if (!group) return refuse('no_group')
  const { set_by_file: file } = group
  if (file !== null && !client.file) return refuse('set_by_file', { file })
  const { roleOf } = await administrators.roles(sql)
  if (roleOf(name) || (await administrators.isStored(sql, name))) return refuse('group_in_use', { applications: [] })
  const applications = (await store.selectApplications(sql, name)).map((application) => application.name)
  if (applications.length > 0) return refuse('group_in_use', { applications })
  if ((await store.selectMember(sql, name)).length > 0) return refuse('group_has_members')
  await store.deleteGroup(sql, name)
  await events.recordInside(sql, { kind: 'group_deleted', reason: name }, client)
  return undefined
}

export type Groups = ReturnType<typeof openGroups>

/** The reason of the event: the groups, and who has invited. No name of a group has a space. */
export const joinedByInvitation = (groups: readonly string[], madeBy: string) => `${groups.join(',')} by ${madeBy}`

/** The groups that an invitation promises. */
const createPromises = (clock: Clock, { events, administrators, tokens }: Rooms) => {
  /** A function that leaves out groups of administrators, even if they have become that only since. */
  const findPromisable = async (sql?: Sql) => {
    const { roleOf } = await administrators.roles(sql)
    return (names: readonly string[]) => names.filter((name) => roleOf(name) === undefined)
  }

  /** The groups that existed at `promisedAt` and still exist: a later group may have got the name of a deleted one. */
  const stillPromised = async (sql: Transaction, names: readonly string[], promisedAt: Date) =>
    (await store.holdGroups(sql, (await findPromisable(sql))(names), promisedAt)).map(({ name }) => name)

  const fitWithAnyUsername = (email: string, groups: readonly string[]) =>
    tokens.fits({ username: longestUsername, email, groups })

  return {
    findPromisable,
    stillPromised,

    /**
     * The refusal if these groups cannot be promised to a new user, whatever username the user will choose. The groups are not deleted
     * before the transaction ends.
     */
    refusalOfPromise: async (sql: Transaction, email: string, names: readonly string[]) => {
      const { roleOf } = await administrators.roles(sql)
      if (names.some(roleOf)) return refuse('group_of_administrators')
      const existing = (await store.holdGroups(sql, names, clock.now())).map(({ name }) => name)
      const unknown = names.find((name) => !existing.includes(name))
      if (unknown !== undefined) return refuse('no_group', { group: unknown })
      if (names.length > maxGroups) return tooManyByNumber()
      return fitWithAnyUsername(email, names) ? undefined : refuse('too_many_groups')
    },

    /**
     * Gives the groups of an invitation to a new user, except those that are no longer promised. `by`: who has made it. Returns the groups
     * that the user has then. Undefined if they would be too many: then nothing changes.
     */
    giveTo: async (
      sql: Transaction,
      user: { id: string; email: string; groups: readonly string[] },
      { names, promisedAt, by }: { names: readonly string[]; promisedAt: Date; by: string },
    ) => {
      const promised = await stillPromised(sql, names, promisedAt)
      const joined = promised.filter((name) => !user.groups.includes(name))
      if (joined.length === 0) return user.groups
      const groups = [...user.groups, ...joined].sort()
      if (groups.length > maxGroups || !fitWithAnyUsername(user.email, groups)) return undefined
      await store.updateGroupsOfUser(sql, user.id, groups)
      const event = { kind: 'group_joined', userId: user.id, reason: joinedByInvitation(joined, by) } as const
      await events.recordInside(sql, event, { ip: '', userAgent: 'invitation' })
      return groups
    },
  }
}

/**
 * A group is a name and its members. The names of a user's groups are in the user's row: a sign-in that waits for that row sees the groups
 * as they are then, and a token is made from one row. The user's row is always locked before the row of a group. Before both,
 * administrators wait for each other at the groups of administrators.
 */
export const openGroups = ({ database, clock }: Platform, rooms: Rooms) => {
  const { events } = rooms
  const addInside = async (sql: Transaction, name: string, client: Client) => {
    const isNew = (await store.insertGroup(sql, name, clock.now())).length > 0
    if (isNew) await events.recordInside(sql, { kind: 'group_added', reason: name }, client)
    return isNew
  }

  return {
    /** False if the group exists already. */
    add: (name: string, client: Client) =>
      database.transaction(async (sql) => {
        await events.checkActor(sql, client)
        return addInside(sql, name, client)
      }),
    addInside,

    list: async (): Promise<Group[]> =>
      (await store.selectGroups(database)).map(({ name, created_at, members, set_by_file }) => ({
        name,
        createdAt: created_at,
        members,
        setByFile: set_by_file ?? undefined,
      })),

    /** The groups among these names that exist. They are not deleted before the transaction ends. */
    hold: async (sql: Transaction, names: readonly string[]) =>
      (await store.holdGroups(sql, names, clock.now())).map(({ name }) => name),

    /** Changes the groups of a user whose row the caller holds. `joined` and `left` have only what has really changed. */
    change: async (
      sql: Transaction,
      user: { id: string; groups: readonly string[] },
      { add = [], remove = [] }: GroupChange,
    ) => {
      const existing = (await store.holdGroups(sql, add, clock.now())).map(({ name }) => name)
      const unknown = add.find((name) => !existing.includes(name))
      if (unknown !== undefined) return refuse('no_group', { group: unknown })
      const joined = [...new Set(add)].filter((name) => !user.groups.includes(name)).sort()
      const left = [...new Set(remove)].filter((name) => user.groups.includes(name)).sort()
      const groups = [...user.groups, ...joined].filter((name) => !left.includes(name)).sort()
      if (groups.length > maxGroups) return tooManyByNumber()
      if (joined.length + left.length > 0) await store.updateGroupsOfUser(sql, user.id, groups)
      return { joined, left, groups }
    },

    ...createPromises(clock, rooms),

    /** The ids of at most `limit` members, whose rows are locked until the transaction ends. */
    lockMembers: async (sql: Transaction, name: string, limit: number) =>
      (await store.lockMembers(sql, name, limit)).map(({ id }) => id),

    remove: (name: string, client: Client) =>
      database.transaction(async (sql) => {
        await events.checkActor(sql, client)
        return removeInside(sql, rooms, name, client)
      }),

    /** For configuration files, which change many things in one transaction. */
    forFiles: {
      remove: (sql: Transaction, name: string, client: Client) => removeInside(sql, rooms, name, client),
      /** The file that owns each group, or undefined. */
      owners: async (sql: Transaction) =>
        (await store.selectOwners(sql)).map(({ name, set_by_file }) => ({ name, file: set_by_file ?? undefined })),
      own: async (sql: Transaction, name: string, file: string | undefined) => {
        await store.updateOwner(sql, name, file ?? null)
      },
    },
  }
}
