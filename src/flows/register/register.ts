import type { Language } from '../../domain/mails/languages.js'
import type { Mails } from '../../domain/mails/mails.js'
import type { Passwords } from '../../domain/passwords/passwords.js'
import type { PasswordValidation } from '../../domain/passwords/rules.js'
import { type Registrations, registrationLifetime } from '../../domain/registrations/registrations.js'
import { readEmail } from '../../domain/users/email.js'
import { readUsername } from '../../domain/users/username.js'
import type { Users } from '../../domain/users/users.js'
import { randomToken } from '../../lib/random.js'
import type { Database } from '../../platform/database/database.js'

export type RegisterRefusal = 'username_taken' | 'busy'
type Result =
  | { browser: string }
  | { invalid: { refused: string; code: string } }
  | { rejected: PasswordValidation }
  | { refused: RegisterRefusal }
type Request = { username: string; email: string; password: string; name?: string | undefined }

/**
 * Begins a registration and returns the secret of the browser that asked. An address that has an account takes the same
 * way and the same time; only its owner learns the difference, by mail.
 */
export const createRegister = (deps: {
  database: Database
  users: Users
  passwords: Passwords
  registrations: Registrations
  mails: Mails
}) => {
  const { database, users, passwords, registrations, mails } = deps

  return async (request: Request, language: Language): Promise<Result> => {
    const email = readEmail(request.email)
    const username = readUsername(request.username)
    const name = request.name?.trim() || null
    if ('refused' in email) return { invalid: email }
    if ('refused' in username) return { invalid: username }
    const checked = await passwords.check(request.password, { username: username.username, email: email.email, name })
    if ('refused' in checked) return checked
    if (!checked.validation.valid) return { rejected: checked.validation }
    if (await users.findByUsername(username.username)) return { refused: 'username_taken' }
    const passwordHash = await passwords.hash(request.password)
    if (typeof passwordHash !== 'string') return passwordHash

    return database.transaction(async (sql) => {
      const owner = await users.findByEmail(email.email, sql)
      if (owner) {
        await mails.queue(sql, { to: owner.email, template: 'already-registered', values: {}, language })
        return { browser: randomToken() }
      }
      const { token, code, browser } = await registrations.begin(sql, { email, username, name, passwordHash })
      const values = { token, code, validFor: registrationLifetime }
      await mails.queue(sql, { to: email.email, template: 'verify-email', values, language })
      return { browser }
    })
  }
}
