import type { AccountChanges } from '../account-changes/account-changes.js'
import { isRefused, refuse } from '../contract/outcome.js'
import type { Events } from '../messages/events.js'
import type { Passwords } from '../passwords/passwords.js'
import type { CallerContext } from '../sessions/session-facts.js'
import type { SessionLookups } from '../sessions/session-lookups.js'
import type { UserChanges, Users } from '../users/users.js'

type Dependencies = {
  accountChanges: AccountChanges
  users: Users
  userChanges: UserChanges
  passwords: Passwords
  sessionLookups: Pick<SessionLookups, 'isLive'>
  events: Pick<Events, 'record'>
}
type PasswordChange = { currentPassword: string; newPassword: string }

/** Replaces the password if the current one is right. */
export const createChangePassword =
  ({ accountChanges, users, userChanges, passwords, sessionLookups, events }: Dependencies) =>
  async (context: CallerContext, { currentPassword, newPassword }: PasswordChange) => {
    const { caller, client } = context
    const { userId, sessionId } = caller
    const asker = { ...client, isKnown: true }
    const user = await users.findEnabled(userId)
    const verified = await passwords.verify(currentPassword, user?.passwordHash, asker)
    if (isRefused(verified)) return verified
    if (!user || !(await sessionLookups.isLive(caller))) return refuse('not_authenticated')
    if (!verified.matches) {
      await events.record({ kind: 'password_change_failed', userId, sessionId, reason: 'wrong_password' }, client)
      return refuse('wrong_current_password')
    }
    if (newPassword === currentPassword) return refuse('password_unchanged')
    const rejected = await passwords.refusalFor(newPassword, user, asker)
    if (rejected) return rejected
    const passwordHash = await passwords.hash(newPassword, asker)
    if (isRefused(passwordHash)) return passwordHash
    return accountChanges.byCaller(context, 'password_changed', async (sql, current) => {
      if (current.passwordHash !== user.passwordHash) return refuse('wrong_current_password')
      await userChanges.setPassword(sql, userId, passwordHash)
      return { changes: { password_changed: {} } }
    })
  }
