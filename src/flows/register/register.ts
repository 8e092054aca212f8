import type { Language } from '../../contract/languages.js'
import { isRefused, refuse } from '../../contract/outcome.js'
import type { Passwords } from '../../domain/passwords/passwords.js'

import type { Registrations } from '../../domain/registrations/registrations.js'
import { displayName } from '../../domain/users/display-name.js'
import { readEmail } from '../../domain/users/email.js'
import { readUsername } from '../../domain/users/username.js'
import type { Users } from '../../domain/users/users.js'
import { atLeast, equalTime } from '../../http/at-least.js'

type Request = { username: string; email: string; password: string; name?: string | undefined }

/**
 * Begins a registration and returns the secret for this browser. An email that has an account is handled in the same way
 * and time; only its owner sees the difference, in the mail.
 */
export const createRegister = (deps: { users: Users; passwords: Passwords; registrations: Registrations }) => {
  const { users, passwords, registrations } = deps

  return async (request: Request, language: Language) => {
    const email = readEmail(request.email)
    const username = readUsername(request.username)
    const name = displayName(request.name)
    if (isRefused(email)) return email
    if (isRefused(username)) return username
    const person = { username: username.username, email: email.email, name }
    // Before the password, whose faults the page can ask for itself: so it can show everything at once.
    if (await users.findByUsername(username.username)) return refuse('username_taken')
    const rejected = await passwords.refusalFor(request.password, person)
    if (rejected) return rejected
    const passwordHash = await passwords.hash(request.password)
    if (isRefused(passwordHash)) return passwordHash

    // The same rows are written for an email that has an account, but writing its mail may take a different time.
    const begun = registrations.begin({ email, username, name, passwordHash }, language)
    return { browserToken: await atLeast(equalTime, begun) }
  }
}
