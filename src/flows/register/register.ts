import { isRefused, refuse } from '../../contract/outcome.js'
import type { ProfileFieldChanges } from '../../contract/profile-fields.js'
import type { Invitations } from '../../domain/invitations/invitations.js'
import type { Passwords } from '../../domain/passwords/passwords.js'
import type { ProfileFields } from '../../domain/profile-fields/profile-fields.js'
import type { RegistrationGate } from '../../domain/registrations/registration-gate.js'
import type { Registrations } from '../../domain/registrations/registrations.js'
import type { Client } from '../../domain/sessions/client.js'
import type { Terms } from '../../domain/terms/terms.js'
import { displayName } from '../../domain/users/display-name.js'
import { type Email, readEmail } from '../../domain/users/email.js'
import { chooseUsername } from '../../domain/users/username.js'
import type { Usernames } from '../../domain/users/usernames.js'
import { atLeast, minResponseTime } from '../../http/at-least.js'

type NewRegistration = {
  username: string
  email: string
  password: string
  name?: string | undefined
  fields?: ProfileFieldChanges | undefined
  /** The version that the user has seen and agreed to. */
  terms?: string | undefined
  invite?: string | undefined
  /** The secret of the registration that this browser began before. */
  earlier?: string | undefined
  /** The id of the application that has sent the user here. */
  application?: string | undefined
}

type Dependencies = {
  usernames: Usernames
  passwords: Passwords
  registrations: Registrations
  registrationGate: RegistrationGate
  invitations: Invitations
  profileFields: Pick<ProfileFields, 'begin'>
  terms: Pick<Terms, 'version'>
}

/**
 * Begins a registration and returns the secret for this browser. An email that has an account is handled in the same way
 * and time; only its owner sees the difference, in the mail.
 */
export const createRegister = (deps: Dependencies) => {
  const { usernames, passwords, registrations, registrationGate: gate, invitations, profileFields, terms } = deps

  /** One refusal for every invitation that does not work, whatever is wrong with it, and also if the address has an account. */
  const refusalOfInvitation = async (token: string, email: Email) => {
    const invitation = await invitations.find(token)
    return invitation?.key === email.key ? undefined : refuse('invalid_invitation')
  }

  /** `mayMail` is asked when everything else is right: only what would send a mail counts. */
  return async (request: NewRegistration, client: Client, mayMail: () => Promise<boolean>) => {
    const { invite, earlier, application: applicationId } = request
    const closed = invite === undefined ? gate.refusalForAll() : undefined
    if (closed) return closed
    const email = readEmail(request.email)
    if (isRefused(email)) return email
    // Before everything that looks at accounts, so that a refusal says nothing about them.
    const refused = invite === undefined ? gate.refusalForAddress(email) : await refusalOfInvitation(invite, email)
    if (refused) return refused
    const username = chooseUsername(request.username)
    const name = displayName(request.name)
    if (isRefused(username)) return username
    const person = { username: username.username, email: email.email, name }
    if (request.terms !== undefined && request.terms !== terms.version) return refuse('terms_changed')
    const fields = profileFields.begin(request.fields)
    if (isRefused(fields)) return fields
    // Before the password, whose faults the page can ask for itself: so it can show everything at once.
    if (!(await usernames.mayBeChosen(username))) return refuse('username_taken')
    const rejected = await passwords.refusalFor(request.password, person, client)
    if (rejected) return rejected
    const passwordHash = await passwords.hash(request.password, client)
    if (isRefused(passwordHash)) return passwordHash

    // The same rows are written for an email that has an account, but writing its mail may take a different time.
    const withheld = !(await mayMail())
    const mailing = {
      ...(invite !== undefined && { invite }),
      earlier,
      withheld,
      applicationId,
      agreedTerms: request.terms,
    }
    const registering = registrations.begin({ email, username, name, passwordHash, fields }, client, mailing)
    return { browserToken: await atLeast(minResponseTime, registering) }
  }
}
