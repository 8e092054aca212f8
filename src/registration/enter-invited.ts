import { isRefused, refuse } from '../contract/outcome.js'
import type { Events } from '../messages/events.js'
import type { SignIns, Visit } from '../sign-in/sign-ins.js'
import type { NewUser } from '../users/new-users.js'
import type { CompleteRegistration } from './complete-registration.js'
import type { Registrations } from './registrations.js'

type Dependencies = {
  registrations: Pick<Registrations, 'beginProven'>
  completeRegistration: CompleteRegistration
  signIns: Pick<SignIns, 'byRegistration'>
  events: Pick<Events, 'record'>
}

export type EnterInvited = ReturnType<typeof createEnterInvited>

/**
 * Creates the account at once and signs its user in, because nothing is left to confirm: the link of the invitation was mailed to the
 * address and has proven it, or it was printed and the address stays unproven.
 */
export const createEnterInvited =
  ({ registrations, completeRegistration, signIns, events }: Dependencies) =>
  async (
    user: NewUser,
    visit: Visit,
    details: { invite: string; isPrinted: boolean; agreedTerms: string | undefined },
  ) => {
    const { isPrinted } = details
    const pending = await registrations.beginProven(user, visit.client, details)
    const completed = await completeRegistration(pending, { provenBy: isPrinted ? 'nothing' : 'invitation' })
    if (isRefused(completed)) {
      const { refused } = completed
      if (refused === 'username_taken_since') return refuse('username_taken')
      // A mailed link proves the mailbox, so its visitor may know that the address has an account.
      return refuse(refused === 'already_registered' && !isPrinted ? 'already_registered' : 'invalid_invitation')
    }
    await events.record({ kind: 'invitation_used', userId: completed.user.id }, visit.client)
    const outcome = await signIns.byRegistration(completed.user, visit)
    return outcome ? { outcome, isPrinted } : refuse('already_registered')
  }
