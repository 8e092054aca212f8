import type { Events } from '../../domain/events/events.js'
import type { Language } from '../../domain/mails/languages.js'
import type { Mails } from '../../domain/mails/mails.js'
import { type OneTimeTokens, resetLifetime } from '../../domain/one-time-tokens/one-time-tokens.js'
import type { Passwords } from '../../domain/passwords/passwords.js'
import type { PasswordValidation } from '../../domain/passwords/rules.js'
import type { Client } from '../../domain/sessions/client.js'
import type { Sessions } from '../../domain/sessions/sessions.js'
import type { Users } from '../../domain/users/users.js'
import type { Database } from '../../platform/database/database.js'

export type ConfirmRefusal = 'invalid_link' | 'busy'
type Confirmed = 'done' | { rejected: PasswordValidation } | { refused: ConfirmRefusal }

type Deps = {
  database: Database
  users: Users
  passwords: Passwords
  sessions: Sessions
  oneTimeTokens: OneTimeTokens
  mails: Mails
  events: Events
}

export const createResetPassword = (deps: Deps) => {
  const { database, users, passwords, sessions, oneTimeTokens, mails, events } = deps

  /** Writes the mail into the outbox when the address has an account; whether it has one must not show in the answer. */
  const request = async (email: string, client: Client, language: Language) => {
    const user = await users.findByEmail(email)
    if (!user || user.disabled) return
    await database.transaction(async (sql) => {
      const token = await oneTimeTokens.createReset(sql, user.id)
      const values = { token, validFor: resetLifetime }
      await mails.queue(sql, { to: user.email, template: 'reset-password', values, language })
    })
    await events.record({ kind: 'reset_requested', userId: user.id }, client)
  }

  const confirm = async (token: string, password: string, client: Client, language: Language): Promise<Confirmed> => {
    const userId = await oneTimeTokens.peekReset(token)
    const user = userId === undefined ? undefined : await users.findById(userId)
    if (!user || user.disabled) return { refused: 'invalid_link' }
    const checked = await passwords.check(password, user)
    if ('refused' in checked) return checked
    if (!checked.validation.valid) return { rejected: checked.validation }
    const passwordHash = await passwords.hash(password)
    if (typeof passwordHash !== 'string') return passwordHash

    const wasReset = await database.transaction(async (sql) => {
      if ((await oneTimeTokens.takeReset(sql, token)) === undefined) return false
      await users.setPassword(sql, user.id, passwordHash)
      await sessions.endAll(user.id, { sql })
      await mails.queue(sql, {
        to: user.email,
        template: 'password-reset',
        values: { username: user.username },
        language,
      })
      return true
    })
    if (!wasReset) return { refused: 'invalid_link' }
    await events.record({ kind: 'password_reset', userId: user.id }, client)
    return 'done'
  }

  return { request, confirm }
}
