import { isRefused, refuse } from '../../contract/outcome.js'
import type { Events } from '../../domain/events/events.js'
import type { Mails } from '../../domain/mails/mails.js'
import type { OneTimeTokens } from '../../domain/one-time-tokens/one-time-tokens.js'
import type { Passwords } from '../../domain/passwords/passwords.js'
import type { Client } from '../../domain/sessions/client.js'
import type { SessionCaller, Sessions } from '../../domain/sessions/sessions.js'
import { type Undos, undoLifetime } from '../../domain/undos/undos.js'
import type { Users } from '../../domain/users/users.js'
import type { Webhooks } from '../../domain/webhooks/webhooks.js'
import type { Database } from '../../platform/database/database.js'

type Dependencies = {
  database: Database
  users: Users
  passwords: Passwords
  sessions: Sessions
  mails: Mails
  undos: Pick<Undos, 'add'>
  oneTimeTokens: OneTimeTokens
  events: Events
  webhooks: Webhooks
}
type Request = { caller: SessionCaller; currentPassword: string; newPassword: string }

/** Replaces the password if the current one is right, ends every other session and renews the tokens of this one. */
export const createChangePassword =
  ({ database, users, passwords, sessions, oneTimeTokens, mails, undos, events, webhooks }: Dependencies) =>
  async ({ caller, currentPassword, newPassword }: Request, client: Client) => {
    const { userId, sessionId } = caller
    const asker = { ...client, isKnown: true }
    const user = await users.findById(userId)
    const verified = await passwords.verify(currentPassword, user?.passwordHash, asker)
    if (isRefused(verified)) return verified
    if (!user || user.disabled || !(await sessions.isLive(caller))) return refuse('not_authenticated')
    if (!verified.matches) {
      await events.record({ kind: 'password_change_failed', userId, sessionId, reason: 'wrong_password' }, client)
      return refuse('wrong_current_password')
    }
    if (newPassword === currentPassword) return refuse('password_unchanged')
    const rejected = await passwords.refusalFor(newPassword, user, asker)
    if (rejected) return rejected
    const passwordHash = await passwords.hash(newPassword, asker)
    if (isRefused(passwordHash)) return passwordHash
    return database.transaction(async (sql) => {
      const current = await users.lock(sql, userId)
      if (!current || current.disabled) return refuse('not_authenticated')
      if (current.passwordHash !== user.passwordHash) return refuse('wrong_current_password')
      const issued = await sessions.rotateWithoutGrace(sql, caller, current, client)
      if (!issued) return refuse('not_authenticated')
      await users.setPassword(sql, userId, passwordHash)
      await webhooks.queue(sql, 'factor.changed', { user: { id: userId }, factor: 'password' })
      await oneTimeTokens.forgetResets(sql, userId)
      await sessions.endAll(userId, { except: sessionId, sql })
      const undoToken = await undos.add(sql, current, { kind: 'password' })
      const values = { username: current.username, undoToken, undoFor: undoLifetime }
      await mails.queue(sql, { to: current.email, userId, template: 'password-changed', values, client })
      await events.recordInside(sql, { kind: 'password_changed', userId, sessionId }, client)
      return { issued, user: current }
    })
  }
