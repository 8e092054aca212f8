import { isRefused, refuse } from '../contract/outcome.js'
import type { ProfileFieldChanges } from '../contract/profile-fields.js'
import { minResponseTime, takeAtLeast } from '../lib/timing.js'
import type { Mails } from '../messages/mails.js'
import type { Passwords } from '../passwords/passwords.js'
import type { Reservation } from '../platform/cache/cache.js'
import type { Visit } from '../sign-in/sign-ins.js'
import { displayName, type Email, readChosenUsername, readEmail, usernameFromEmail } from '../users/names.js'
import type { ProfileFields } from '../users/profile-fields.js'
import type { Terms } from '../users/terms.js'
import type { Usernames } from '../users/usernames.js'

import type { EnterInvited } from './enter-invited.js'
import type { Invitations } from './invitations.js'
import type { RegistrationGate } from './registration-gate.js'
import type { Registrations } from './registrations.js'

type NewRegistration = {
  /** Undefined only if the username is made from the address (USERNAMES). */
  username?: string | undefined
  email: string
  password: string
  name?: string | undefined
  fields?: ProfileFieldChanges | undefined
  /** The version of the terms that the user has seen and agreed to. */
  terms?: string | undefined
  invite?: string | undefined
  /** The secret of the registration that this browser began before. */
  formerBrowserToken?: string | undefined
  /** The id of the application that has sent the user here. */
  application?: string | undefined
  /** Whether the user is signed in at once, if the invitation proves the address. With one that was printed, every user is. */
  signIn?: boolean | undefined
}

/** Each counts, so it is called when everything before it is right. */
type Counting = {
  /** Counts a registration without an invitation. Undefined if it may go on. */
  findExcess: () => Promise<Reservation | undefined>
  /** Counts a mail, and says whether it may be sent. */
  mayMail: () => Promise<boolean>
}

type Dependencies = {
  usernames: Usernames
  passwords: Passwords
  registrations: Pick<Registrations, 'begin'>
  registrationGate: RegistrationGate
  invitations: Invitations
  profileFields: Pick<ProfileFields, 'initialValues'>
  terms: Pick<Terms, 'version'>
  enterInvited: EnterInvited
  mails: Pick<Mails, 'isOff'>
}

/**
 * Begins a registration and returns the secret for this browser. An email that has an account is handled in the same way and time; only
 * its owner sees the difference, in the mail. With the mailed link of an invitation, the registration is finished at once if the
 * request asks for it. With a printed one it always is.
 */
export const createRegister = (deps: Dependencies) => {
  const {
    usernames,
    passwords,
    registrations,
    registrationGate: gate,
    invitations,
    profileFields,
    terms,
    enterInvited,
    mails,
  } = deps

  /** The refusal is the same for every invitation that does not work, also if the address has an account. */
  const findInvitation = async (token: string, email: Email) => {
    const invitation = await invitations.find(token)
    if (invitation?.key !== email.key) return refuse('invalid_invitation')
    // The invitation proves only the exact spelling, because another one may be another mailbox.
    const provesAddress = invitation.provesAddress && invitation.email === email.email
    // Where nothing is mailed, an address that the link has not proven could never be confirmed.
    if (mails.isOff && !provesAddress && !invitation.isPrinted) return refuse('mail_is_off')
    return { provesAddress, isPrinted: invitation.isPrinted }
  }

  return async (request: NewRegistration, visit: Visit, { findExcess, mayMail }: Counting) => {
    const { client } = visit
    const { invite, formerBrowserToken, application: applicationId, terms: agreedTerms } = request
    const closedRefusal = invite === undefined ? gate.refusalForAll() : undefined
    if (closedRefusal) return closedRefusal
    const email = readEmail(request.email)
    if (isRefused(email)) return email
    // The address and the invitation are checked before accounts are looked up, so that a refusal says nothing about accounts.
    const invitation = invite === undefined ? gate.refusalForAddress(email) : await findInvitation(invite, email)
    if (isRefused(invitation)) return invitation
    const username = request.username === undefined ? usernameFromEmail(email) : readChosenUsername(request.username)
    const name = displayName(request.name)
    if (isRefused(username)) return username
    const person = { username: username.username, email: email.email, name }
    if (agreedTerms !== undefined && agreedTerms !== terms.version) return refuse('terms_changed')
    const fields = profileFields.initialValues(request.fields)
    if (isRefused(fields)) return fields
    // The username is checked before the password: the page finds the faults of the password by another request, and so can show all
    // problems at once. A username that is made from the address is not checked, because a free one is found when the account is created.
    if (request.username !== undefined && !(await usernames.mayBeChosen(username))) return refuse('username_taken')
    const rejected = await passwords.refusalFor(request.password, person, client)
    if (rejected) return rejected
    const excess = invite === undefined ? await findExcess() : undefined
    if (excess) return refuse('too_many_requests', { excess })
    const passwordHash = await passwords.hash(request.password, client)
    if (isRefused(passwordHash)) return passwordHash

    const user = { email, username, name, passwordHash, fields }
    const { provesAddress = false, isPrinted = false } = invitation ?? {}
    if (invite !== undefined && (isPrinted || (provesAddress && (request.signIn || mails.isOff))))
      return enterInvited(user, visit, { invite, isPrinted, agreedTerms })

    // The same rows are written for an email that has an account, but writing its mail may take a different time.
    const withheld = !(await mayMail())
    const options = { invite, formerBrowserToken, withheld, applicationId, agreedTerms }
    const registering = registrations.begin(user, client, options)
    return { browserToken: await takeAtLeast(minResponseTime, registering) }
  }
}
