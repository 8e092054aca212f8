import type { AccountChanges, Changes } from '../account-changes/account-changes.js'
import { isRefused, refuse } from '../contract/outcome.js'
import type { ProviderId } from '../contract/providers.js'
import type { Database, Transaction } from '../platform/database/database.js'
import type { CallerContext } from '../sessions/session-facts.js'
import type { Identity, User, UserChanges, Users } from '../users/users.js'

import type { ProvenIdentity, ResolvedAccount } from './identities.js'
import type { IdentityLinks } from './identity-links.js'

type Dependencies = {
  database: Database
  users: Pick<Users, 'lock'>
  identityLinks: Pick<IdentityLinks, 'isUndone' | 'linkProvider' | 'forgetUndone'>
  accountChanges: Pick<AccountChanges, 'byCaller' | 'bySignIn'>
  userChanges: Pick<UserChanges, 'proveEmail'>
  nameOf: (provider: ProviderId) => string
}

/** Whether the account is still as the policy saw it: its email was not changed, and no undo took it back. */
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

  /** Links by the address alone, with the user's row locked. Undefined if another link came first, or this identity was unlinked before. */
  const linkLocked = async (sql: Transaction, user: User, identity: Identity) => {
    if (await identityLinks.isUndone(sql, user.id, identity)) return undefined
    if (!(await identityLinks.linkProvider(sql, user.id, identity))) return undefined
    await userChanges.proveEmail(sql, user.id)
    return linkChange(identity)
  }

  /** Returns the change, which the caller applies together with the new session. Undefined if nothing was linked. */
  const linkByAddress = async (sql: Transaction, user: User, identity: Identity) => {
    const current = await users.lock(sql, user.id)
    return isStillAsDecided(current, user) ? linkLocked(sql, current, identity) : undefined
  }

  /** Links for a signed-in user, who may also link an identity again that was unlinked before. */
  const linkBySession = async (context: CallerContext, user: User, identity: Identity) => {
    const outcome = await accountChanges.byCaller(context, 'provider_linked', async (sql, current) => {
      if (!isStillAsDecided(current, user) || !(await identityLinks.linkProvider(sql, user.id, identity)))
        return refuse('undecided')
      await identityLinks.forgetUndone(sql, user.id, identity)
      return { changes: linkChange(identity) }
    })
    if (!isRefused(outcome)) return { user: outcome.user, how: 'link' as const }
    if (outcome.refused === 'too_many_requests') return outcome
    return outcome.refused === 'undecided' ? undefined : refuse('disabled')
  }

  /** Undefined if the account has changed since the policy decided about it. */
  const link = async ({ provider, profile, linkingTo, client, mustWait }: ProvenIdentity, user: User) => {
    const identity = { provider, subject: profile.subject }
    if (linkingTo) return linkBySession(linkingTo, user, identity)
    return database.transaction(async (sql): Promise<ResolvedAccount | undefined> => {
      const current = await users.lock(sql, user.id)
      if (!isStillAsDecided(current, user)) return undefined
      if (await mustWait?.(sql, user.id)) return { user, how: 'link', waitingLink: identity }
      const linkedChange = await linkLocked(sql, current, identity)
      if (!linkedChange) return undefined
      await accountChanges.bySignIn(sql, { user: current, client }, linkedChange)
      return { user: { ...user, providers: [...user.providers, provider] }, how: 'link' }
    })
  }

  return { link, linkByAddress }
}
