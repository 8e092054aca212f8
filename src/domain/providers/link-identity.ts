import { isRefused, refuse } from '../../contract/outcome.js'
import type { ProviderId } from '../../contract/providers.js'
import type { Database, Transaction } from '../../platform/database/database.js'
import type { AccountChanges, Changes } from '../accounts/account-changes.js'
import type { CallerContext } from '../sessions/request-context.js'
import type { IdentityLinks } from '../users/identity-links.js'
import type { UserChanges } from '../users/user-changes.js'
import type { Identity, User, Users } from '../users/users.js'
import type { ProvenIdentity, Resolved } from './identities.js'

type Dependencies = {
  database: Database
  users: Pick<Users, 'lock'>
  identityLinks: Pick<IdentityLinks, 'isUndone' | 'linkProvider' | 'forgetUndone'>
  accountChanges: Pick<AccountChanges, 'byCaller' | 'bySignIn'>
  userChanges: Pick<UserChanges, 'proveEmail'>
  nameOf: (provider: ProviderId) => string
}

/** Whether it is still the account that was decided about: its email was not changed, and no undo took it back. */
const isStillAsDecided = (current: User | undefined, { email, undoCount }: User): current is User =>
  current?.email === email && current.undoCount === undoCount

/** Links an identity to an account that the policy has decided about. */
export const createLinkIdentity = ({
  database,
  users,
  identityLinks,
  userChanges,
  accountChanges,
  nameOf,
}: Dependencies) => {
  const linkChange = (identity: Identity): Changes<'provider_linked'> => ({
    provider_linked: {
      mail: { providerName: nameOf(identity.provider) },
      undo: { identity },
      event: { provider: identity.provider },
    },
  })

  /** By the address alone, with the user's row locked. Undefined too if the identity was undone in the meantime. */
  const linkLocked = async (sql: Transaction, user: User, identity: Identity) => {
    if (await identityLinks.isUndone(sql, user.id, identity)) return undefined
    if (!(await identityLinks.linkProvider(sql, user.id, identity))) return undefined
    await userChanges.proveEmail(sql, user.id)
    return linkChange(identity)
  }

  /** The change that the caller applies to the account together with the session that begins. Undefined if nothing was linked. */
  const linkByAddress = async (sql: Transaction, user: User, identity: Identity) => {
    const current = await users.lock(sql, user.id)
    return isStillAsDecided(current, user) ? linkLocked(sql, current, identity) : undefined
  }

  /** By a session of the user, who may also want an identity again that was undone. */
  const linkBySession = async (context: CallerContext, user: User, identity: Identity) => {
    const linked = await accountChanges.byCaller(context, 'provider_linked', async (sql, current) => {
      if (!isStillAsDecided(current, user) || !(await identityLinks.linkProvider(sql, user.id, identity)))
        return refuse('undecided')
      await identityLinks.forgetUndone(sql, user.id, identity)
      return { changes: linkChange(identity) }
    })
    if (!isRefused(linked)) return { user: linked.user, how: 'link' as const }
    if (linked.refused === 'too_many_requests') return linked
    return linked.refused === 'undecided' ? undefined : refuse('disabled')
  }

  /** Undefined if the account is not the one that was decided about any more. */
  const link = async ({ provider, profile, linkingTo, client, mustWait }: ProvenIdentity, user: User) => {
    const identity = { provider, subject: profile.subject }
    if (linkingTo) return linkBySession(linkingTo, user, identity)
    return database.transaction(async (sql): Promise<Resolved | undefined> => {
      const current = await users.lock(sql, user.id)
      if (!isStillAsDecided(current, user)) return undefined
      if (await mustWait?.(sql, user.id)) return { user, how: 'link', waiting: identity }
      const linked = await linkLocked(sql, current, identity)
      if (!linked) return undefined
      await accountChanges.bySignIn(sql, { user: current, client }, linked)
      return { user: { ...user, providers: [...user.providers, provider] }, how: 'link' }
    })
  }

  return { link, linkByAddress }
}
