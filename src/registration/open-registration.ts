import type { AccountChangesRoom } from '../account-changes/open-account-changes.js'
import type { Groups } from '../groups/groups.js'
import type { MessagesRoom } from '../messages/open-messages.js'
import type { Platform } from '../platform/platform.js'
import type { SessionsRoom } from '../sessions/open-sessions.js'
import type { Config } from '../settings/config.js'
import type { UsersRoom } from '../users/open-users.js'
import { createCompleteRegistration } from './complete-registration.js'
import { createInvitations, createRegistrationGate } from './invitations.js'
import { createRegistrations } from './registrations.js'
import { createSetup } from './setup.js'

export type RegistrationRoom = ReturnType<typeof openRegistration>

/** Who gets an account. */
export const openRegistration = (
  config: Config,
  platform: Platform,
  below: UsersRoom & SessionsRoom & MessagesRoom & AccountChangesRoom & { groups: Groups },
) => {
  const { registration: mode, registrationDomains: domains, allowedOrigins, publicUrl, adminGroup } = config
  const deps = { ...platform, ...below }
  const registrationGate = createRegistrationGate({ mode, domains })
  const invitations = createInvitations({ ...deps, gate: registrationGate, allowedOrigins })
  return {
    registrationGate,
    invitations,
    registrations: createRegistrations({ ...deps, invitations }),
    completeRegistration: createCompleteRegistration({ ...deps, invitations, usernameSource: config.usernames }),
    setup: createSetup({ ...deps, publicUrl, adminGroup }),
  }
}
