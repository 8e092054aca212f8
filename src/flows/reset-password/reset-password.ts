import { isRefused, refuse } from '../../contract/outcome.js'
import type { Events } from '../../domain/events/events.js'
import type { Mails } from '../../domain/mails/mails.js'
import { type OneTimeTokens, resetLifetime } from '../../domain/one-time-tokens/one-time-tokens.js'
import type { Passwords } from '../../domain/passwords/passwords.js'

import type { Registrations } from '../../domain/registrations/registrations.js'
import type { Client } from '../../domain/sessions/client.js'
import type { Sessions } from '../../domain/sessions/sessions.js'
import type { Users } from '../../domain/users/users.js'
import type { Webhooks } from '../../domain/webhooks/webhooks.js'
import { randomToken } from '../../lib/random.js'
import type { Database } from '../../platform/database/database.js'

type Dependencies = {
  database: Database
  users: Users
  passwords: Passwords
  sessions: Sessions
  oneTimeTokens: OneTimeTokens
  registrations: Registrations
  mails: Mails
  events: Events
  webhooks: Webhooks
}

export const createResetPassword = (deps: Dependencies) => {
  const { database, users, passwords, sessions, oneTimeTokens, registrations, mails, events, webhooks } = deps

  /** The last link stays valid until a newer mail is queued. If there were too many mails, nothing changes. */
  const sendLink = (userId: string, client: Client, withheld: boolean) =>
    database.transaction(async (sql) => {
      const user = await users.lock(sql, userId)
      if (!user || user.disabled) return
      const token = randomToken()
      const values = { token, validFor: resetLifetime, hasPassword: user.passwordHash !== undefined }
      const mail = { to: user.email, userId, template: 'reset-password', values, client, withheld } as const
      const queued = await mails.queue(sql, mail)
      if (!isRefused(queued)) await oneTimeTokens.replaceReset(sql, user.id, token)
    })

  /**
   * Queues the mail if the email has an account or a registration that is not confirmed yet. The answer must not show
   * which. `withheld`: no mail is sent.
   */
  const request = async (email: string, client: Client, withheld: boolean) => {
    const user = await users.findByEmail(email)
    if (!user) return registrations.sendAgainToEmail(email, client, withheld)
    if (user.disabled) return
    await sendLink(user.id, client, withheld)
    await events.record({ kind: 'reset_requested', userId: user.id }, client)
  }

  /** Whether a link still works, for the page before it shows its form. Changes nothing. */
  const look = async (token: string) => {
    const userId = await oneTimeTokens.peekReset(token)
    const user = userId === undefined ? undefined : await users.findById(userId)
    return user && !user.disabled ? user : refuse('invalid_link')
  }

  const confirm = async (token: string, password: string, client: Client) => {
    const user = await look(token)
    if (isRefused(user)) return user
    const rejected = await passwords.refusalFor(password, user, client)
    if (rejected) return rejected
    const passwordHash = await passwords.hash(password, client)
    if (isRefused(passwordHash)) return passwordHash

    const wasReset = await database.transaction(async (sql) => {
      // Locks the user's row first, like every change of it, so that a new reset request is either before or after this one.
      const owner = await users.lock(sql, user.id)
      if (!owner || owner.disabled) return false
      if ((await oneTimeTokens.takeReset(sql, token)) === undefined) return false
      await oneTimeTokens.forgetResets(sql, user.id)
      await users.setPassword(sql, user.id, passwordHash)
      await webhooks.queue(sql, 'factor.changed', { user: { id: user.id }, factor: 'password' })
      await sessions.endAll(user.id, { sql })
      await mails.queue(sql, {
        to: owner.email,
        userId: owner.id,
        template: 'password-reset',
        values: { username: owner.username },
        client,
      })
      await events.recordInside(sql, { kind: 'password_reset', userId: user.id }, client)
      return true
    })
    return wasReset ? user : refuse('invalid_link')
  }

  return { request, look, confirm }
}
