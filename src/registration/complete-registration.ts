import { isRefused, type Refused, refuse } from '../contract/outcome.js'
import type { UsernameSource } from '../contract/schemas.js'
import { registrationLifetime } from '../http/cookie-table.js'
import { type Clock, later } from '../lib/clock.js'
import { commitUnlessRefused, type Database } from '../platform/database/database.js'
import { type NameTaken, refuseTakenName } from '../users/login-names.js'
import { type Username, usernameFromEmail } from '../users/names.js'
import type { UsersRoom } from '../users/open-users.js'
import type { User } from '../users/users.js'
import type { GateRefusal, Invitations } from './invitations.js'
import type { PendingRegistration } from './pending-registrations.js'
import * as store from './registrations.store.js'

type CompletionResult =
  | { user: User; usedInvitation: boolean }
  | Refused<'already_confirmed' | 'already_registered' | 'username_taken_since' | GateRefusal>

type Services = UsersRoom & {
  database: Database
  clock: Clock
  invitations: Invitations
  usernameSource: UsernameSource
}

/** What has proven the address. An invitation that was printed proves nothing: then only its user says that the address is theirs. */
export type AddressProof = { provenBy?: 'mail' | 'invitation' | 'nothing' }

/** Both names were free when the registration began. */
const takenSince = ({ refused }: NameTaken) =>
  refuse(refused === 'email_taken' ? 'already_registered' : 'username_taken_since')

const attempt = async (
  { database, users, newUsers, userChanges, invitations, profileFields, terms, clock }: Services,
  pending: PendingRegistration,
  username: Username,
  { provenBy = 'mail' }: AddressProof,
): Promise<CompletionResult> => {
  const completion = commitUnlessRefused(database, async (sql): Promise<CompletionResult> => {
    const now = clock.now()
    const { user } = pending
    const [lockedRow] = await store.lockWaiting(sql, pending.id, now)
    if (!lockedRow) return refuse('already_confirmed')
    // The invitation counts if it was open when the registration began.
    const openAt = later(lockedRow.expires_at, -registrationLifetime)
    const applicant = { email: user.email, openAt, tokenHash: lockedRow.invitation_hash }
    const account = {
      ...user,
      username,
      fields: profileFields.knownValues(user.fields ?? {}),
      emailProven: provenBy !== 'nothing',
      emailClaimed: provenBy === 'nothing',
    }
    const admitted = await invitations.admit(sql, applicant, () => newUsers.createWithFree(sql, account))
    // Another registration with the same invitation may have been faster.
    if (isRefused(admitted))
      return (await users.findByEmail(sql, user.email.email)) ? refuse('already_registered') : admitted
    const { created } = admitted
    if (isRefused(created)) return takenSince(created)
    // The invitation was used or withdrawn since it was looked at.
    if (provenBy !== 'mail' && !admitted.usedInvitation) return refuse('invitation_required')
    if (provenBy === 'nothing') sql.unawaited(userChanges.openEnrolment(sql, created.id))
    if (pending.agreedTerms !== undefined) sql.unawaited(terms.agree(sql, created.id, pending.agreedTerms, openAt))
    sql.unawaited(store.markConfirmed(sql, pending.id, now))
    return { user: created, usedInvitation: admitted.usedInvitation }
  })
  return completion.catch((error: unknown) => takenSince(refuseTakenName(error)))
}

/**
 * Creates the account. This works once: a second request finds no registration. Registration may have been closed since it began. An
 * invitation that was open then still counts, unless it was used, withdrawn or replaced by a new one.
 */
export const completeRegistration = (
  services: Services,
  pending: PendingRegistration,
  proof: AddressProof = {},
): Promise<CompletionResult> => {
  const { email, username } = pending.user
  // The user has not chosen this name, so it need not have been free until now, and another name may replace it.
  const isGeneratedName = services.usernameSource === 'from_email' && username.key === usernameFromEmail(email).key
  if (!isGeneratedName) return attempt(services, pending, username, proof)
  return services.newUsers.withFreeUsername(
    email,
    (freeUsername) => attempt(services, pending, freeUsername, proof),
    (result) => isRefused(result) && result.refused === 'username_taken_since',
  )
}
