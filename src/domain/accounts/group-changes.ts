import { isRefused } from '../../contract/outcome.js'
import type { Database, Transaction } from '../../platform/database/database.js'
import type { Events } from '../events/events.js'
import type { GroupChange, Groups } from '../groups/groups.js'
import type { Client } from '../sessions/client.js'
import type { User } from '../users/users.js'
import type { AccountChanges, OperatorContext } from './account-changes.js'

type Dependencies = {
  database: Database
  accountChanges: Pick<AccountChanges, 'byOperator' | 'byOperatorInside'>
  groups: Pick<Groups, 'change' | 'lockMembers' | 'remove'>
  events: Pick<Events, 'holdActor'>
}

/** So many members leave a group that is deleted in one transaction. */
const memberBatch = 500

const kinds = ['group_joined', 'group_left'] as const

/** Changes the members of groups. A change counts within two seconds at every instance, and signs no user out. */
export const createGroupChanges = ({ database, accountChanges, groups, events }: Dependencies) => {
  const changeGroups = (wanted: GroupChange) => async (sql: Transaction, user: User) => {
    const changed = await groups.change(sql, user, wanted)
    if (isRefused(changed)) return changed
    const { joined, left } = changed
    return {
      /** Whether anything has changed. */
      result: joined.length + left.length > 0,
      changes: {
        ...(joined.length > 0 && { group_joined: { event: { reason: joined.join(',') } } }),
        ...(left.length > 0 && { group_left: { event: { reason: left.join(',') } } }),
      },
    }
  }

  /** Some members lose the group, in one transaction. Returns how many. */
  const removeMembers = (client: Client, name: string, limit: number) =>
    database.transaction(async (sql) => {
      await events.holdActor(sql, client)
      const members = await groups.lockMembers(sql, name, limit)
      for (const userId of members) {
        const change = changeGroups({ remove: [name] })
        const changed = await accountChanges.byOperatorInside(sql, { userId, client }, kinds, change)
        if (isRefused(changed)) throw new Error(`A member whose row is held could not leave: ${changed.refused}`)
      }
      return members.length
    })

  return {
    change: (actor: OperatorContext, wanted: GroupChange) =>
      accountChanges.byOperator(actor, kinds, changeGroups(wanted)),

    removeMembers,

    /** Deletes a group, also from its members if that is meant. If it is interrupted, some members have lost it. */
    deleteGroup: async (client: Client, name: string, { alsoWithMembers }: { alsoWithMembers: boolean }) => {
      for (let members = 0; ; members += await removeMembers(client, name, memberBatch)) {
        const removed = await groups.remove(name, client)
        if (!isRefused(removed)) return { members }
        if (removed.refused !== 'group_has_members' || !alsoWithMembers) return removed
      }
    },
  }
}
