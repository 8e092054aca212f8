import type { Config } from '../config.js'
import type { Administrators } from '../domain/administrators/administrators.js'
import type { Events } from '../domain/events/events.js'
import type { Groups } from '../domain/groups/groups.js'
import { createInvitations } from '../domain/invitations/invitations.js'
import { createMailSignIns } from '../domain/mail-sign-ins/mail-sign-ins.js'
import type { MailedCodes } from '../domain/mailed-codes/mailed-codes.js'
import type { Mails } from '../domain/mails/mails.js'
import type { ProfileFields } from '../domain/profile-fields/profile-fields.js'
import { createCompleteMailRegistration } from '../domain/registrations/complete-mail-registration.js'
import { createCompleteRegistration } from '../domain/registrations/complete-registration.js'
import { createRegistrationGate } from '../domain/registrations/registration-gate.js'
import { createRegistrations } from '../domain/registrations/registrations.js'
import { createSetup } from '../domain/setup/setup.js'
import type { Terms } from '../domain/terms/terms.js'
import type { Undos } from '../domain/undos/undos.js'
import type { NewUsers } from '../domain/users/new-users.js'
import type { UserChanges } from '../domain/users/user-changes.js'
import type { Users } from '../domain/users/users.js'
import type { Clock } from '../lib/clock.js'
import type { Database } from '../platform/database/database.js'

type Dependencies = {
  database: Database
  clock: Clock
  users: Users
  newUsers: NewUsers
  userChanges: UserChanges
  mails: Mails
  undos: Undos
  groups: Groups
  administrators: Administrators
  mailedCodes: MailedCodes
  profileFields: ProfileFields
  events: Events
  terms: Terms
}

/** The nouns that decide who gets an account. */
export const createRegistrationNouns = (config: Config, deps: Dependencies) => {
  const registrationGate = createRegistrationGate({ mode: config.registration, domains: config.registrationDomains })
  const invitations = createInvitations({
    ...deps,
    gate: registrationGate,
    allowedOrigins: config.allowedOrigins,
  })
  const registrations = createRegistrations({ ...deps, invitations })
  const completeRegistration = createCompleteRegistration({ ...deps, invitations, usernameSource: config.usernames })
  const mailSignIns = createMailSignIns({ ...deps, invitations })
  const completeMailRegistration = createCompleteMailRegistration({ ...deps, invitations, mailSignIns })
  const setup = createSetup({ ...deps, publicUrl: config.publicUrl, adminGroup: config.adminGroup })
  return {
    setup,
    registrationGate,
    invitations,
    registrations,
    completeRegistration,
    mailSignIns,
    completeMailRegistration,
  }
}
