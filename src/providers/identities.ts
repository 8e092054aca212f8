import type { Changes } from '../account-changes/account-changes.js'
import type { AccountChangesRoom } from '../account-changes/open-account-changes.js'
import { isRefused, type Refused, refuse } from '../contract/outcome.js'
import type { ProviderId } from '../contract/providers.js'
import type { Client } from '../http/request-origin.js'
import type { Database, Transaction } from '../platform/database/database.js'
import type { GateRefusal } from '../registration/invitations.js'
import type { RegistrationRoom } from '../registration/open-registration.js'
import type { CallerContext } from '../sessions/session-facts.js'
import { type Email, readEmail } from '../users/names.js'
import type { UsersRoom } from '../users/open-users.js'
import { type Identity, isAddressTrusted, type User } from '../users/users.js'
import type { IdentityLinks } from './identity-links.js'
import { decide, type LinkingRefusal } from './linking.js'
import type { Profile } from './provider.js'

type Parts = UsersRoom &
  AccountChangesRoom &
  RegistrationRoom & {
    database: Database
    identityLinks: IdentityLinks
    nameOf: (provider: ProviderId) => string
  }

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

/**
 * Creates an account for a proven identity. No mailed link is needed: the provider has verified the address, and an invitation of that
 * address is enough. Undefined if the address or the identity got an account meanwhile.
 */
const createAccount = async (
  { newUsers, invitations }: Parts,
  { provider, profile, client, mayCreate = async () => true }: ProvenIdentity,
): Promise<ResolvedAccount | Refused<GateRefusal> | TooManyRequests | undefined> => {
  const email = readEmail(profile.email)
  if (isRefused(email)) throw new Error('A profile has an email that cannot be one')
  if (!(await mayCreate(email))) return refuse('too_many_requests')
  const { username, name, subject } = profile
  let usedInvitation = false
  const newUser = { email, username, name, identity: { provider, subject }, language: client.language }
  const created = await newUsers.createFromProvider<GateRefusal>(newUser, async (sql, insert) => {
    const admitted = await invitations.admit(sql, { email }, insert)
    if (isRefused(admitted)) return admitted
    usedInvitation = admitted.usedInvitation
    return admitted.created
  })
  if (!isRefused(created)) return { user: created, how: 'create', usedInvitation }
  const { refused } = created
  return refused === 'provider_taken' || refused === 'email_taken' ? undefined : refuse(refused)
}

/** Whether the account is still as the policy saw it: its email was not changed, and no undo took it back. */
const isStillAsDecided = (current: User | undefined, { email, undoCount }: User): current is User =>
  current?.email === email && current.undoCount === undoCount

const linkChange = ({ nameOf }: Parts, identity: Identity): Changes<'provider_linked'> => ({
  provider_linked: {
    mail: { providerName: nameOf(identity.provider) },
    undo: { identity },
    event: { provider: identity.provider },
  },
})

/** Links by the address alone, with the user's row locked. Undefined if another link came first, or this identity was unlinked before. */
const linkLocked = async (parts: Parts, sql: Transaction, user: User, identity: Identity) => {
  const { identityLinks, userChanges } = parts
  if (await identityLinks.isUndone(sql, user.id, identity)) return undefined
  if (!(await identityLinks.linkProvider(sql, user.id, identity))) return undefined
  await userChanges.proveEmail(sql, user.id)
  return linkChange(parts, identity)
}

/** Links for a signed-in user, who may also link an identity again that was unlinked before. */
const linkBySession = async (parts: Parts, context: CallerContext, user: User, identity: Identity) => {
  const { identityLinks, accountChanges } = parts
  const outcome = await accountChanges.byCaller(context, 'provider_linked', async (sql, current) => {
    if (!isStillAsDecided(current, user) || !(await identityLinks.linkProvider(sql, user.id, identity)))
      return refuse('undecided')
    await identityLinks.forgetUndone(sql, user.id, identity)
    return { changes: linkChange(parts, identity) }
  })
  if (!isRefused(outcome)) return { user: outcome.user, how: 'link' as const }
  if (outcome.refused === 'too_many_requests') return outcome
  return outcome.refused === 'undecided' ? undefined : refuse('disabled')
}

/** Links to an account that the policy has decided about. Undefined if the account has changed since. */
const link = async (parts: Parts, proven: ProvenIdentity, user: User) => {
  const { database, users, accountChanges } = parts
  const { provider, profile, linkingTo, client, mustWait } = proven
  const identity = { provider, subject: profile.subject }
  if (linkingTo) return linkBySession(parts, linkingTo, user, identity)
  return database.transaction(async (sql): Promise<ResolvedAccount | undefined> => {
    const current = await users.lock(sql, user.id)
    if (!isStillAsDecided(current, user)) return undefined
    if (await mustWait?.(sql, user.id)) return { user, how: 'link', waitingLink: identity }
    const linkedChange = await linkLocked(parts, sql, current, identity)
    if (!linkedChange) return undefined
    await accountChanges.bySignIn(sql, { user: current, client }, linkedChange)
    return { user: { ...user, providers: [...user.providers, provider] }, how: 'link' }
  })
}

const decideAndApply = async (parts: Parts, request: ProvenIdentity) => {
  const { database, users, identityLinks } = parts
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
  if (decision.action === 'create') return createAccount(parts, request)
  const user = [owner, accountWithEmail, linkingTo].find((account) => account?.id === decision.userId)
  if (!user) throw new Error('The policy named an unknown account')
  return decision.action === 'sign_in' ? { user, how: 'sign_in' as const } : link(parts, request, user)
}

/** More rounds would mean that the accounts changed each time between a decision and its statement. */
const maxRounds = 10

/**
 * Applies the linking policy. Each change is one statement, which fails if the accounts have changed since the decision. Then the policy
 * decides again. So of twenty first sign-ins at once, one creates the account and the others find it.
 */
export const createIdentities = (parts: Parts) => ({
  /** Finds, links or creates the account of a proven profile. With `linkingTo`, it is linked to that account and no other. */
  resolve: async (request: ProvenIdentity): Promise<ResolvedAccount | TooManyRequests | Refused<ResolvingRefusal>> => {
    for (let round = 0; round < maxRounds; round += 1) {
      const resolved = await decideAndApply(parts, request)
      if (!resolved) continue
      const { provider, profile } = request
      if (!isRefused(resolved))
        await parts.identityLinks.noteEmail({ provider, subject: profile.subject }, profile.email)
      return resolved
    }
    throw new Error('The accounts kept changing while an identity was linked')
  },

  /** Returns the change, which the caller applies together with the new session. Undefined if nothing was linked. */
  linkByAddress: async (sql: Transaction, user: User, identity: Identity) => {
    const current = await parts.users.lock(sql, user.id)
    return isStillAsDecided(current, user) ? linkLocked(parts, sql, current, identity) : undefined
  },
})
