import { isRefused, type Refused, refuse } from '../../contract/outcome.js'
import type { ProviderId } from '../../contract/providers.js'
import type { Database, Transaction } from '../../platform/database/database.js'
import type { AccountChanges, Changes } from '../accounts/account-changes.js'
import type { Invitations } from '../invitations/invitations.js'
import type { GateRefusal } from '../registrations/registration-gate.js'
import type { Client } from '../sessions/client.js'
import type { CallerContext } from '../sessions/request-context.js'
import { readEmail } from '../users/email.js'
import type { Identity, User, Users } from '../users/users.js'
import { decide, type LinkingRefusal } from './linking.js'
import type { Profile } from './provider.js'

/** More rounds than this would mean that the accounts changed between each decision and its statement. */
const rounds = 10

type ProvenIdentity = {
  provider: ProviderId
  profile: Profile
  /** The session that links the identity to its user. */
  linkingTo?: CallerContext
  client: Client
  /** Whether a link to this account, whose row is locked, has to wait for a second proof. Then it is decided, and not written. */
  mustWait?: (sql: Transaction, userId: string) => Promise<boolean>
}

/** `waiting`: the identity is not linked yet; it is written together with the session. `invited`: an invitation was used up. */
export type Resolved = { user: User; how: 'sign_in' | 'link' | 'create'; waiting?: Identity; invited?: boolean }
export type ResolvingRefusal = LinkingRefusal | GateRefusal
/** Only a session counts its changes. */
type Limited = Refused<'too_many_requests'>
export type Identities = ReturnType<typeof createIdentities>

/**
 * Applies the linking policy. Each change is one statement, which fails if the accounts have changed since the decision; then
 * the policy decides again. So twenty first sign-ins at once create one account.
 */
export const createIdentities = (deps: {
  database: Database
  users: Users
  accountChanges: Pick<AccountChanges, 'byCaller' | 'bySignIn'>
  nameOf: (provider: ProviderId) => string
  invitations: Pick<Invitations, 'admit'>
}) => {
  const { database, users, accountChanges, nameOf, invitations } = deps

  /** No token is needed: the provider has verified the address, and an invitation of that address is enough. */
  const create = async ({
    provider,
    profile,
    client,
  }: ProvenIdentity): Promise<Resolved | Refused<GateRefusal> | undefined> => {
    const email = readEmail(profile.email)
    if (isRefused(email)) throw new Error('A profile has an email that cannot be one')
    const { username, name, subject } = profile
    let invited = false
    const newUser = { email, username, name, identity: { provider, subject }, language: client.language }
    const created = await users.createFromProvider<GateRefusal>(newUser, async (sql, insert) => {
      const admitted = await invitations.admit(sql, { email }, insert)
      if (isRefused(admitted)) return admitted
      invited = admitted.invited
      return admitted.created
    })
    if (!isRefused(created)) return { user: created, how: 'create', invited }
    const { refused } = created
    return refused === 'provider_taken' || refused === 'email_taken' ? undefined : refuse(refused)
  }

  /** Whether it is still the account that was decided about: its email was not changed, and no undo took it back. */
  const isDecided = (current: User | undefined, { email, undoCount }: User): current is User =>
    current?.email === email && current.undoCount === undoCount

  const linkedNow = (identity: Identity): Changes<'provider_linked'> => ({
    provider_linked: {
      mail: { providerName: nameOf(identity.provider) },
      undo: { identity },
      event: { provider: identity.provider },
    },
  })

  /** By the address alone, with the user's row locked. Undefined too if the identity was undone in the meantime. */
  const linkLocked = async (sql: Transaction, user: User, identity: Identity) => {
    const mayLink = !(await users.isUndone(sql, user.id, identity))
    return mayLink && (await users.linkProvider(sql, user.id, identity)) ? linkedNow(identity) : undefined
  }

  /** What the caller applies to the account together with the session that begins. Undefined if nothing was linked. */
  const linkByAddress = async (sql: Transaction, user: User, identity: Identity) => {
    const current = await users.lock(sql, user.id)
    return isDecided(current, user) ? linkLocked(sql, current, identity) : undefined
  }

  /** By a session of the user, who may also want an identity again that was undone. */
  const linkBySession = async (context: CallerContext, user: User, identity: Identity) => {
    const linked = await accountChanges.byCaller(context, 'provider_linked', async (sql, current) => {
      if (!isDecided(current, user) || !(await users.linkProvider(sql, user.id, identity))) return refuse('undecided')
      await users.forgetUndone(sql, user.id, identity)
      return { changes: linkedNow(identity) }
    })
    if (!isRefused(linked)) return { user: linked.user, how: 'link' as const }
    if (linked.refused === 'too_many_requests') return linked
    return linked.refused === 'undecided' ? undefined : refuse('disabled')
  }

  /** Undefined if the account is not the one that was decided about any more. */
  const linkNow = async ({ provider, profile, linkingTo, client, mustWait }: ProvenIdentity, user: User) => {
    const identity = { provider, subject: profile.subject }
    if (linkingTo) return linkBySession(linkingTo, user, identity)
    return database.transaction(async (sql): Promise<Resolved | undefined> => {
      const current = await users.lock(sql, user.id)
      if (!isDecided(current, user)) return undefined
      if (await mustWait?.(sql, user.id)) return { user, how: 'link', waiting: identity }
      const linked = await linkLocked(sql, current, identity)
      if (!linked) return undefined
      await accountChanges.bySignIn(sql, { user: current, client }, linked)
      return { user: { ...user, providers: [...user.providers, provider] }, how: 'link' }
    })
  }

  const attempt = async (request: ProvenIdentity) => {
    const { provider, profile } = request
    const linkingTo = request.linkingTo && (await users.findById(request.linkingTo.caller.userId))
    if (request.linkingTo !== undefined && !linkingTo) return refuse('disabled')
    const accountWithEmail = await users.findByEmail(profile.email)
    const emailReservedFor = await users.reservedFor(profile.email)
    // Read last: if another request creates the account in the meantime, it is found as the owner of this identity, not as
    // another user with the same email.
    const identity = { provider, subject: profile.subject }
    const owner = await users.findByIdentity(identity)
    const wasRemovedByUndo =
      accountWithEmail !== undefined && (await users.isUndone(database, accountWithEmail.id, identity))
    const decision = decide({ provider, owner, accountWithEmail, wasRemovedByUndo, emailReservedFor, linkingTo })
    if (isRefused(decision)) return decision
    if (decision.action === 'create') return create(request)
    const user = [owner, accountWithEmail, linkingTo].find((account) => account?.id === decision.userId)
    if (!user) throw new Error('The policy named an unknown account')
    return decision.action === 'sign_in' ? { user, how: 'sign_in' as const } : linkNow(request, user)
  }

  /** Finds, links or creates the account of a proven profile; with `linkingTo`, links it to that account and no other. */
  const resolve = async (request: ProvenIdentity): Promise<Resolved | Limited | Refused<ResolvingRefusal>> => {
    for (let round = 0; round < rounds; round += 1) {
      const resolved = await attempt(request)
      if (resolved) return resolved
    }
    throw new Error('The accounts kept changing while an identity was linked')
  }

  return { resolve, linkByAddress }
}
