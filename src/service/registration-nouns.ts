import type { Undos } from '../account-changes/undos.js'
import type { Groups } from '../groups/groups.js'
import type { Clock } from '../lib/clock.js'
import type { Events } from '../messages/events.js'
import type { MailedCodes } from '../messages/mailed-codes.js'
import type { Mails } from '../messages/mails.js'

import type { Database } from '../platform/database/database.js'
import { createCompleteRegistration } from '../registration/complete-registration.js'
import { createInvitations, createRegistrationGate } from '../registration/invitations.js'

import { createRegistrations } from '../registration/registrations.js'
import { createSetup } from '../registration/setup.js'
import type { Administrators } from '../sessions/administrators.js'
import type { Config } from '../settings/config.js'
import { createCompleteMailRegistration, createMailSignIns } from '../sign-in/mail-sign-ins.js'

import type { NewUsers } from '../users/new-users.js'
import type { ProfileFields } from '../users/profile-fields.js'
import type { Terms } from '../users/terms.js'
import type { UserChanges, Users } from '../users/users.js'

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
