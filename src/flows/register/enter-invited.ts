import { isRefused, refuse } from '../../contract/outcome.js'
import type { Events } from '../../domain/events/events.js'
import type { CompleteRegistration } from '../../domain/registrations/complete-registration.js'
import type { Registrations } from '../../domain/registrations/registrations.js'
import type { SignIns, Visit } from '../../domain/sign-in/sign-ins.js'
import type { NewUser } from '../../domain/users/new-users.js'

type Dependencies = {
  registrations: Pick<Registrations, 'beginProven'>
  completeRegistration: CompleteRegistration
  signIns: Pick<SignIns, 'byRegistration'>
  events: Pick<Events, 'record'>
}

export type EnterInvited = ReturnType<typeof createEnterInvited>

/** The mailed link of the invitation has proven the address, so the account is created at once and its user is signed in. */
export const createEnterInvited =
  ({ registrations, completeRegistration, signIns, events }: Dependencies) =>
  async (user: NewUser, visit: Visit, details: { invite: string; agreedTerms: string | undefined }) => {
    const pending = await registrations.beginProven(user, visit.client, details)
    const completed = await completeRegistration(pending, { provenBy: 'invitation' })
    if (isRefused(completed)) {
      const { refused } = completed
      if (refused === 'username_taken_since') return refuse('username_taken')
      // The link proves the mailbox, so this visitor may know that the address has an account.
      return refuse(refused === 'already_registered' ? 'already_registered' : 'invalid_invitation')
    }
    await events.record({ kind: 'invitation_used', userId: completed.user.id }, visit.client)
    const outcome = await signIns.byRegistration(completed.user, visit)
    return outcome ? { outcome } : refuse('already_registered')
  }
