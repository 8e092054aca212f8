import type { AdminUsers } from '../contract/admin/admin-bodies.js'
import { isRefused } from '../contract/outcome.js'
import { later } from '../lib/clock.js'
import type { Invitations } from '../registration/invitations.js'
import type { createWaitingRegistrations } from '../registration/pending-registrations.js'
import { registrationLifetime } from '../registration/registrations.js'

import { readEmail } from '../users/names.js'

type Dependencies = {
  invitations: Pick<Invitations, 'findByEmails'>
  waitingRegistrations: Pick<ReturnType<typeof createWaitingRegistrations>, 'findByEmails'>
}

/** Describes an email address that no user has: a person who calls a helpdesk may only think that they have an account. */
export const createFindWithoutAccount =
  ({ invitations, waitingRegistrations }: Dependencies) =>
  async (search: string): Promise<AdminUsers['withoutAccount']> => {
    const email = readEmail(search.trim())
    if (isRefused(email)) return null
    const invitation = (await invitations.findByEmails([email.email])).at(-1)
    const registrations = await waitingRegistrations.findByEmails([email.email])
    const registration = registrations.filter(({ confirmedAt }) => confirmedAt === null).at(-1)
    if (!invitation && !registration) return null
    return {
      email: email.email,
      invitedAt: invitation?.createdAt.toISOString() ?? null,
      registeredAt: registration ? later(registration.expiresAt, -registrationLifetime).toISOString() : null,
    }
  }
