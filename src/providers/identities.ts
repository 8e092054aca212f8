import type { AccountChanges } from '../account-changes/account-changes.js'
import { isRefused, type Refused, refuse } from '../contract/outcome.js'
import type { ProviderId } from '../contract/providers.js'
import type { Client } from '../http/request-origin.js'
import type { Database, Transaction } from '../platform/database/database.js'
import type { GateRefusal, Invitations } from '../registration/invitations.js'

import type { CallerContext } from '../sessions/session-facts.js'
import type { Email } from '../users/names.js'
import type { NewUsers } from '../users/new-users.js'
import { type Identity, isAddressTrusted, type User, type UserChanges, type Users } from '../users/users.js'

import { createAccountCreation } from './account-creation.js'
import type { IdentityLinks } from './identity-links.js'
import { createLinkIdentity } from './link-identity.js'
import { decide, type LinkingRefusal } from './linking.js'
import type { Profile } from './provider.js'

/** More rounds would mean that the accounts changed each time between a decision and its statement. */
const maxRounds = 10

export type ProvenIdentity = {
  provider: ProviderId
  profile: Profile
  /** The session that links the identity to its user. */
  linkingTo?: CallerContext
  client: Client
  /** Whether a link to this account, whose row is locked, must wait for a second proof. Then the link is decided, but not written. */
  mustWait?: (sql: Transaction, userId: string) => Promise<boolean>
  /** Counts a new account of this address, and says whether it may be created. */
  mayCreate?: (email: Email) => Promise<boolean>
}

/** `waitingLink`: an identity that is not linked yet. It is written together with the session. `usedInvitation`: an invitation was used up. */
export type ResolvedAccount = {
  user: User
  how: 'sign_in' | 'link' | 'create'
  waitingLink?: Identity
  usedInvitation?: boolean
}
export type ResolvingRefusal = LinkingRefusal | GateRefusal
/** Links by a signed-in user and new accounts are limited. */
type TooManyRequests = Refused<'too_many_requests'>
export type Identities = ReturnType<typeof createIdentities>

/**
 * Applies the linking policy. Each change is one statement, which fails if the accounts have changed since the decision. Then the policy
 * decides again. So of twenty first sign-ins at once, one creates the account and the others find it.
 */
export const createIdentities = (deps: {
  database: Database
  users: Users
  newUsers: NewUsers
  identityLinks: IdentityLinks
  userChanges: Pick<UserChanges, 'proveEmail'>
  accountChanges: Pick<AccountChanges, 'byCaller' | 'bySignIn'>
  nameOf: (provider: ProviderId) => string
  invitations: Pick<Invitations, 'admit'>
}) => {
  const { database, users, identityLinks } = deps
  const createAccount = createAccountCreation(deps)
  const { link, linkByAddress } = createLinkIdentity(deps)

  const attempt = async (request: ProvenIdentity) => {
    const { provider, profile } = request
    const linkingTo = request.linkingTo && (await users.findById(request.linkingTo.caller.userId))
    if (request.linkingTo !== undefined && !linkingTo) return refuse('disabled')
    const accountWithEmail = await users.findByEmail(profile.email)
    const emailReservedFor = await users.reservedFor(profile.email)
    // The owner is read last. If another request creates the account meanwhile, it is found as the owner of this identity, and not as
    // another user with the same email.
    const identity = { provider, subject: profile.subject }
    const owner = await users.findByIdentity(identity)
    const mustNotLink =
      accountWithEmail !== undefined &&
      ((await identityLinks.isUndone(database, accountWithEmail.id, identity)) || !isAddressTrusted(accountWithEmail))
    const decision = decide({ provider, owner, accountWithEmail, mustNotLink, emailReservedFor, linkingTo })
    if (isRefused(decision)) return decision
    if (decision.action === 'create') return createAccount(request)
    const user = [owner, accountWithEmail, linkingTo].find((account) => account?.id === decision.userId)
    if (!user) throw new Error('The policy named an unknown account')
    return decision.action === 'sign_in' ? { user, how: 'sign_in' as const } : link(request, user)
  }

  /** Finds, links or creates the account of a proven profile. With `linkingTo`, it is linked to that account and no other. */
  const resolve = async (
    request: ProvenIdentity,
  ): Promise<ResolvedAccount | TooManyRequests | Refused<ResolvingRefusal>> => {
    for (let round = 0; round < maxRounds; round += 1) {
      const resolved = await attempt(request)
      if (!resolved) continue
      const { provider, profile } = request
      if (!isRefused(resolved)) await identityLinks.noteEmail({ provider, subject: profile.subject }, profile.email)
      return resolved
    }
    throw new Error('The accounts kept changing while an identity was linked')
  }

  return { resolve, linkByAddress }
}
