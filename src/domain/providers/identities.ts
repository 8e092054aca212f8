import { isRefused, type Refused, refuse } from '../../contract/outcome.js'
import type { ProviderId } from '../../contract/providers.js'
import type { Database, Transaction } from '../../platform/database/database.js'
import type { Invitations } from '../invitations/invitations.js'
import type { Mails } from '../mails/mails.js'
import type { GateRefusal } from '../registrations/registration-gate.js'
import type { Client } from '../sessions/client.js'
import { type Undos, undoLifetime } from '../undos/undos.js'
import { readEmail } from '../users/email.js'
import type { Identity, User, Users } from '../users/users.js'
import { decide, type LinkingRefusal } from './linking.js'
import type { Profile } from './provider.js'

/** More rounds than this would mean that the accounts changed between each decision and its statement. */
const rounds = 10

/** A session that links an identity to its user. Both functions run in the transaction that links, which holds the user's row. */
type LinkingSession = {
  userId: string
  isLive(sql: Transaction): Promise<boolean>
  record(sql: Transaction): Promise<void>
}

type Request = {
  provider: ProviderId
  profile: Profile
  linkingTo?: LinkingSession
  client: Client
  /** Whether a link to this account, whose row is locked, has to wait for a second proof. Then it is decided, and not written. */
  mustWait?: (userId: string, sql: Transaction) => Promise<boolean>
}

/** `waiting`: the identity is not linked yet; it is written together with the session. `invited`: an invitation was used up. */
export type Resolved = { user: User; how: 'sign_in' | 'link' | 'create'; waiting?: Identity; invited?: boolean }
export type ResolvingRefusal = LinkingRefusal | GateRefusal
export type Identities = ReturnType<typeof createIdentities>

/**
 * Applies the linking policy. Each change is one statement, which fails if the accounts have changed since the decision; then
 * the policy decides again. So twenty first sign-ins at once create one account.
 */
export const createIdentities = (deps: {
  database: Database
  users: Users
  mails: Pick<Mails, 'queue'>
  undos: Pick<Undos, 'add'>
  nameOf: (provider: ProviderId) => string
  invitations: Pick<Invitations, 'admit'>
}) => {
  const { database, users, mails, undos, nameOf, invitations } = deps

  /** No token is needed: the provider has verified the address, and an invitation of that address is enough. */
  const create = async ({
    provider,
    profile,
    client,
  }: Request): Promise<Resolved | Refused<GateRefusal> | undefined> => {
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

  /** The account that was decided about, locked. Undefined if its email was changed, or an undo took it back. */
  const lockDecided = async (sql: Transaction, { id, email, undoCount }: User) => {
    const current = await users.lock(sql, id)
    return current?.email === email && current.undoCount === undoCount ? current : undefined
  }

  /** The link and the mail about it are one transaction: no user is linked without a mail. The user's row is locked. */
  const link = async (sql: Transaction, user: User, identity: Identity, client: Client) => {
    if (!(await users.linkProvider(sql, user.id, identity))) return false
    const undoToken = await undos.add(sql, user, { kind: 'provider', identity })
    const providerName = nameOf(identity.provider)
    const values = { username: user.username, providerName, undoToken, undoFor: undoLifetime }
    const mail = { to: user.email, userId: user.id, template: 'provider-linked', values } as const
    await mails.queue(sql, { ...mail, client })
    return true
  }

  /** By the address alone, with the user's row locked. False too if the identity was undone in the meantime. */
  const linkLocked: typeof link = async (sql, user, identity, client) =>
    (await users.isUndone(sql, user.id, identity)) ? false : link(sql, user, identity, client)

  const linkByAddress: typeof link = async (sql, user, identity, client) => {
    const current = await lockDecided(sql, user)
    return current ? linkLocked(sql, current, identity, client) : false
  }

  /** By a session of the user, who may also want an identity again that was undone. */
  const linkBySession = async (
    sql: Transaction,
    session: LinkingSession,
    user: User,
    identity: Identity,
    client: Client,
  ) => {
    if (!(await link(sql, user, identity, client))) return false
    await users.forgetUndone(sql, user.id, identity)
    await session.record(sql)
    return true
  }

  /** Undefined if the account is not the one that was decided about any more. */
  const linkNow = ({ provider, profile, linkingTo, client, mustWait }: Request, user: User) =>
    database.transaction(async (sql): Promise<Resolved | Refused<'disabled'> | undefined> => {
      const identity = { provider, subject: profile.subject }
      const current = await lockDecided(sql, user)
      if (linkingTo && !(await linkingTo.isLive(sql))) return refuse('disabled')
      if (!current) return undefined
      if (await mustWait?.(user.id, sql)) return { user, how: 'link', waiting: identity }
      const linked = linkingTo
        ? await linkBySession(sql, linkingTo, current, identity, client)
        : await linkLocked(sql, current, identity, client)
      return linked ? { user: { ...user, providers: [...user.providers, provider] }, how: 'link' } : undefined
    })

  const attempt = async (request: Request) => {
    const { provider, profile } = request
    const linkingTo = request.linkingTo === undefined ? undefined : await users.findById(request.linkingTo.userId)
    if (request.linkingTo !== undefined && !linkingTo) return refuse('disabled')
    const accountWithEmail = await users.findByEmail(profile.email)
    const emailReservedFor = await users.reservedFor(profile.email)
    // Read last: if another request creates the account in the meantime, it is found as the owner of this identity, not as
    // another user with the same email.
    const identity = { provider, subject: profile.subject }
    const owner = await users.findByIdentity(identity)
    const isUndone = accountWithEmail !== undefined && (await users.isUndone(database, accountWithEmail.id, identity))
    const decision = decide({ provider, owner, accountWithEmail, isUndone, emailReservedFor, linkingTo })
    if (isRefused(decision)) return decision
    if (decision.action === 'create') return create(request)
    const user = [owner, accountWithEmail, linkingTo].find((account) => account?.id === decision.userId)
    if (!user) throw new Error('The policy named an unknown account')
    return decision.action === 'sign_in' ? { user, how: 'sign_in' as const } : linkNow(request, user)
  }

  /** Finds, links or creates the account of a proven profile; with `linkingTo`, links it to that account and no other. */
  const resolve = async (request: Request): Promise<Resolved | Refused<ResolvingRefusal>> => {
    for (let round = 0; round < rounds; round += 1) {
      const resolved = await attempt(request)
      if (resolved) return resolved
    }
    throw new Error('The accounts kept changing while an identity was linked')
  }

  return { resolve, linkByAddress }
}
