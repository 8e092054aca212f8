import { isRefused, type Refused } from '../../contract/outcome.js'
import type { Language } from '../../domain/mails/languages.js'
import type { Passwords } from '../../domain/passwords/passwords.js'
import type { PasswordValidation } from '../../domain/passwords/rules.js'
import type { Registrations } from '../../domain/registrations/registrations.js'
import { displayName } from '../../domain/users/display-name.js'
import { type EmailRefusal, readEmail } from '../../domain/users/email.js'
import { readUsername, type UsernameRefusal } from '../../domain/users/username.js'
import type { Users } from '../../domain/users/users.js'
import { atLeast, equalTime } from '../../http/at-least.js'

type RegisterRefusal = EmailRefusal | UsernameRefusal | 'username_taken' | 'busy'
type Result = { browser: string } | { rejected: PasswordValidation } | Refused<RegisterRefusal>
type Request = { username: string; email: string; password: string; name?: string | undefined }

/**
 * Begins a registration and returns the secret of the browser that asked. An address that has an account takes the same
 * way and the same time; only its owner learns the difference, by mail.
 */
export const createRegister = (deps: { users: Users; passwords: Passwords; registrations: Registrations }) => {
  const { users, passwords, registrations } = deps

  return async (request: Request, language: Language): Promise<Result> => {
    const email = readEmail(request.email)
    const username = readUsername(request.username)
    const name = displayName(request.name)
    if (isRefused(email)) return email
    if (isRefused(username)) return username
    const checked = await passwords.check(request.password, { username: username.username, email: email.email, name })
    if ('refused' in checked) return checked
    if (!checked.validation.valid) return { rejected: checked.validation }
    if (await users.findByUsername(username.username)) return { refused: 'username_taken' }
    const passwordHash = await passwords.hash(request.password)
    if (typeof passwordHash !== 'string') return passwordHash

    // The same rows are written for an address that has an account; what its mail is about may still take longer or shorter.
    const begun = registrations.begin({ email, username, name, passwordHash }, language)
    return { browser: await atLeast(equalTime, begun) }
  }
}
