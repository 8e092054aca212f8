import type { AdminRole } from '../../contract/admin/admin-bodies.js'
import type { Clock } from '../../lib/clock.js'
import type { Database, Sql, Transaction } from '../../platform/database/database.js'
import type { Actor } from '../sessions/client.js'
import { createSessionLife, type SessionLimits } from '../sessions/live-sessions.js'
import { type Proof, proofOf } from '../sessions/proof.js'
import type { SessionCaller } from '../sessions/request-context.js'
import { ActorRefused } from './actor-refused.js'
import * as store from './administrators.store.js'

/** An administrator or member of support in a session, and what they have proven in it. */
export type Administrator = {
  username: string
  role: AdminRole
  proof: Proof
  /** Whether this session was used as an administrator before. */
  isSessionMarked: boolean
}

/** ADMIN_GROUP and SUPPORT_GROUP. Without ADMIN_GROUP, no user is an administrator or support. */
type AdminGroups = { adminGroup: string | undefined; supportGroup: string | undefined }

type Options = AdminGroups & SessionLimits & { database: Database; clock: Clock }

export type Administrators = ReturnType<typeof createAdministrators>

/**
 * Users who may look at the accounts of others and change them, by their group. The group is read from the database, and not from a token.
 */
export const createAdministrators = (options: Options) => {
  const { database, clock, adminGroup, supportGroup } = options
  const { liveNow } = createSessionLife(options)
  const groupNames = [adminGroup, supportGroup].filter((group) => group !== undefined)
  /** Transactions whose actor was checked. One check is enough, because its locks last until the transaction ends. */
  const checkedTransactions = new WeakSet<Transaction>()

  return {
    /** The groups whose members are administrators or support. */
    groups: groupNames,

    /** The role that a group gives to its members. */
    roleOf: (group: string): AdminRole | undefined => {
      if (group === adminGroup) return 'admin'
      return group === supportGroup ? 'support' : undefined
    },

    /** The groups that a setting names and that do not exist. */
    missingGroups: async (sql: Sql) => {
      if (groupNames.length === 0) return []
      const existing = (await store.selectGroups(sql, groupNames)).map(({ name }) => name)
      return groupNames.filter((name) => !existing.includes(name))
    },

    /** Undefined if the caller is no administrator, is disabled, or the session has ended. */
    find: async (caller: SessionCaller): Promise<Administrator | undefined> => {
      const [row] = await store.selectAdministrator(database, caller, groupNames, liveNow())
      if (!row || adminGroup === undefined) return undefined
      const role = row.groups.includes(adminGroup) ? 'admin' : 'support'
      return { username: row.username, role, proof: proofOf(row), isSessionMarked: row.administers_since !== null }
    },

    /** False if the session was used as an administrator before. */
    markSession: async (sql: Transaction, sessionId: string) =>
      (await store.markSession(sql, sessionId, clock.now())).length > 0,

    /**
     * Rolls the change back if the actor is a user who is no administrator any more, or may not change the account `aboutUserId`. Changes
     * by administrators wait for each other after this call: of two who disable each other, the second is no administrator any more.
     */
    checkActor: async (sql: Transaction, actor: Actor, aboutUserId: string | undefined) => {
      const { protectedGroups } = actor
      if (actor.userId !== undefined && !checkedTransactions.has(sql)) {
        const { userId, sessionId, groups } = actor
        await store.lockGroups(sql, groupNames)
        if ((await store.selectActor(sql, userId, sessionId, groups)).length === 0) throw new ActorRefused('not_found')
        checkedTransactions.add(sql)
      }
      if (
        aboutUserId !== undefined &&
        protectedGroups.length > 0 &&
        (await store.selectMember(sql, aboutUserId, protectedGroups)).length > 0
      )
        throw new ActorRefused('administrators_account')
    },
  }
}
