import type { AccountChangesRoom } from '../account-changes/open-account-changes.js'
import type { Groups } from '../groups/groups.js'
import type { MessagesRoom } from '../messages/open-messages.js'
import type { Platform } from '../platform/platform.js'
import type { SessionsRoom } from '../sessions/open-sessions.js'
import type { Config } from '../settings/config.js'
import type { LiveSettingsReader } from '../settings/live-settings.js'
import type { UsersRoom } from '../users/open-users.js'
import { type AddressProof, completeRegistration } from './complete-registration.js'
import { createInvitations, createRegistrationGate } from './invitations.js'
import type { PendingRegistration } from './pending-registrations.js'
import { createRegistrations } from './registrations.js'
import { createSetup } from './setup.js'

export type RegistrationRoom = ReturnType<typeof openRegistration>

/** Who gets an account. */
export const openRegistration = (
  config: Config,
  platform: Platform & { liveSettings: LiveSettingsReader },
  below: UsersRoom & SessionsRoom & MessagesRoom & AccountChangesRoom & { groups: Groups },
) => {
  const { allowedOrigins, publicUrl, adminGroup } = config
  const registrationGate = createRegistrationGate(platform.liveSettings.now)
  const opened = { ...platform, ...below }
  const invitations = createInvitations({ ...opened, gate: registrationGate, allowedOrigins })
  const completion = { ...opened, invitations, usernameSource: config.usernames }
  return {
    registrationGate,
    invitations,
    registrations: createRegistrations(opened),
    completeRegistration: (pending: PendingRegistration, proof?: AddressProof) =>
      completeRegistration(completion, pending, proof),
    setup: createSetup({ ...opened, publicUrl, adminGroup }),
  }
}
