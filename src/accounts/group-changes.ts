import type { AccountChanges, OperatorContext } from '../account-changes/account-changes.js'
import { isRefused } from '../contract/outcome.js'
import type { GroupChange, Groups } from '../groups/groups.js'
import type { Client } from '../http/request-origin.js'
import type { Events } from '../messages/events.js'
import type { Database, Transaction } from '../platform/database/database.js'
import type { User } from '../users/users.js'

type Dependencies = {
  database: Database
  accountChanges: Pick<AccountChanges, 'byOperator' | 'byOperatorInside'>
  groups: Pick<Groups, 'change' | 'lockMembers' | 'remove'>
  events: Pick<Events, 'checkActor'>
}

/** How many members leave in one transaction when a group is deleted. */
const memberBatch = 500

const kinds = ['group_joined', 'group_left'] as const

/** Changes the members of groups. A change takes effect within two seconds at every instance, and signs no user out. */
export const createGroupChanges = ({ database, accountChanges, groups, events }: Dependencies) => {
  const changeGroups = (groupChange: GroupChange) => async (sql: Transaction, user: User) => {
    const outcome = await groups.change(sql, user, groupChange)
    if (isRefused(outcome)) return outcome
    const { joined, left } = outcome
    return {
      /** Whether anything has changed. */
      result: joined.length + left.length > 0,
      changes: {
        ...(joined.length > 0 && { group_joined: { event: { reason: joined.join(',') } } }),
        ...(left.length > 0 && { group_left: { event: { reason: left.join(',') } } }),
      },
    }
  }

  /** Removes at most `limit` members from the group in one transaction. Returns how many. */
  const removeMembers = (client: Client, name: string, limit: number) =>
    database.transaction(async (sql) => {
      await events.checkActor(sql, client)
      const members = await groups.lockMembers(sql, name, limit)
      for (const userId of members) {
        const change = changeGroups({ remove: [name] })
        const outcome = await accountChanges.byOperatorInside(sql, { userId, client }, kinds, change)
        if (isRefused(outcome)) throw new Error(`A member whose row is held could not leave: ${outcome.refused}`)
      }
      return members.length
    })

  return {
    change: (context: OperatorContext, groupChange: GroupChange) =>
      accountChanges.byOperator(context, kinds, changeGroups(groupChange)),

    removeMembers,

    /**
     * Deletes a group. With `alsoWithMembers` its members leave first, in several transactions: if the deletion is interrupted, some have
     * left.
     */
    deleteGroup: async (client: Client, name: string, { alsoWithMembers }: { alsoWithMembers: boolean }) => {
      let members = 0
      for (;;) {
        const removed = await groups.remove(name, client)
        if (!isRefused(removed)) return { members }
        if (removed.refused !== 'group_has_members' || !alsoWithMembers) return removed
        members += await removeMembers(client, name, memberBatch)
      }
    },
  }
}
