import type { AdminRole } from '../contract/admin/admin-bodies.js'
import type { Actor } from '../http/request-origin.js'
import type { Clock } from '../lib/clock.js'
import { ActorRefused, type Database, type Sql, type Transaction } from '../platform/database/database.js'

import * as store from './administrators.store.js'
import { liveNow, type SessionLimits } from './live-sessions.js'
import { type Proof, proofOf, type SessionCaller } from './session-facts.js'

/** An administrator or member of support in a session, and what they have proven in it. */
export type Administrator = {
  username: string
  role: AdminRole
  proof: Proof
  /** Whether this session was used as an administrator before. */
  isSessionMarked: boolean
  groups: { admin: string; support: string | undefined }
}

/**
 * ADMIN_GROUP and SUPPORT_GROUP. If ADMIN_GROUP is undefined, the group counts that the setup has stored. If it is empty (`null`), or the
 * setup has stored none, no user is an administrator or support.
 */
type AdminGroups = { adminGroup: string | null | undefined; supportGroup: string | undefined }

/** The groups whose members are administrators or support. */
const rolesOf = (admin: string | undefined, support: string | undefined) => ({
  admin,
  support,
  names: [admin, support].filter((group) => group !== undefined),
  /** The role that a group gives to its members. */
  roleOf: (group: string): AdminRole | undefined => {
    if (group === admin) return 'admin'
    return group === support ? 'support' : undefined
  },
})
export type AdminRoles = ReturnType<typeof rolesOf>

/**
 * Rolls the change back if the actor is a user who is no administrator any more, or may not change the account `aboutUserId`. Changes
 * by administrators wait for each other after this call: of two who disable each other, the second is no administrator any more.
 */
const createActorCheck = (roles: (sql: Sql) => Promise<AdminRoles>) => {
  /** Transactions whose actor was checked. One check is enough, because its locks last until the transaction ends. */
  const checkedTransactions = new WeakSet<Transaction>()
  return async (sql: Transaction, actor: Actor, aboutUserId: string | undefined) => {
    const { names } = await roles(sql)
    const protectedGroups = actor.protectedGroups === 'all' ? names : actor.protectedGroups
    if (actor.userId !== undefined && !checkedTransactions.has(sql)) {
      const { userId, sessionId, groups } = actor
      await store.lockGroups(sql, names)
      if ((await store.selectActor(sql, userId, sessionId, groups)).length === 0) throw new ActorRefused('not_found')
      checkedTransactions.add(sql)
    }
    if (
      aboutUserId !== undefined &&
      protectedGroups.length > 0 &&
      (await store.selectMember(sql, aboutUserId, protectedGroups)).length > 0
    )
      throw new ActorRefused('administrators_account')
  }
}

export type Administrators = ReturnType<typeof createAdministrators>

/**
 * Users who may look at the accounts of others and change them, by their group. The group is read from the database, and not from a token.
 */
export const createAdministrators = (
  database: Database,
  clock: Clock,
  { adminGroup, supportGroup, lifetimes }: AdminGroups & SessionLimits,
) => {
  let storedGroup: string | undefined

  /**
   * Asks the database only if ADMIN_GROUP is not set, and only until the setup has stored a group, which stays for ever. So every instance
   * knows the group as soon as it is there.
   */
  const findAdminGroup = async (sql: Sql) => {
    if (adminGroup !== undefined) return adminGroup ?? undefined
    storedGroup ??= (await store.selectStoredGroup(sql))[0]?.name
    return storedGroup
  }
  const roles = async (sql: Sql = database) => rolesOf(await findAdminGroup(sql), supportGroup)

  /** The names of the groups, if there are administrators at all. */
  const administeringGroups = async (sql: Sql = database) => {
    const { admin, names } = await roles(sql)
    return admin === undefined ? [] : names
  }

  return {
    roles,

    /** Whether a user in these groups is an administrator or support. */
    areAdministering: async (groups: readonly string[], sql: Sql = database) =>
      groups.length > 0 && (await administeringGroups(sql)).some((name) => groups.includes(name)),

    /** Whether the user is an administrator or support, disabled or not. */
    isAdministering: async (userId: string) => {
      const names = await administeringGroups()
      return names.length > 0 && (await store.selectMember(database, userId, names)).length > 0
    },

    /** The groups that a setting names and that do not exist. */
    missingGroups: async (sql: Sql) => {
      const names = [adminGroup ?? undefined, supportGroup].filter((group) => group !== undefined)
      if (names.length === 0) return []
      const existing = (await store.selectGroups(sql, names)).map(({ name }) => name)
      return names.filter((name) => !existing.includes(name))
    },

    /** Stores that this group is that of administrators while ADMIN_GROUP is not set. */
    storeGroup: async (sql: Transaction, group: string) => {
      await store.insertStoredGroup(sql, group)
    },

    /** Whether the setup has made the group. It cannot be deleted, also while ADMIN_GROUP names another one. */
    isStored: async (sql: Sql, group: string) => (await store.selectStoredGroup(sql))[0]?.name === group,

    /** Undefined if the caller is no administrator, is disabled, or the session has ended. */
    find: async (caller: SessionCaller): Promise<Administrator | undefined> => {
      const { admin, support, names } = await roles()
      if (admin === undefined) return undefined
      const [row] = await store.selectAdministrator(database, caller, names, liveNow({ clock, lifetimes }))
      if (!row) return undefined
      const role = row.groups.includes(admin) ? 'admin' : 'support'
      const isSessionMarked = row.administers_since !== null
      return { username: row.username, role, proof: proofOf(row), isSessionMarked, groups: { admin, support } }
    },

    /** False if the session was used as an administrator before. */
    markSession: async (sql: Transaction, sessionId: string) =>
      (await store.markSession(sql, sessionId, clock.now())).length > 0,

    checkActor: createActorCheck(roles),
  }
}
