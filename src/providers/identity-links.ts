import { refuse } from '../contract/outcome.js'
import { isProviderId, type ProviderId } from '../contract/providers.js'
import { canSignIn } from '../factors/ways-to-sign-in.js'
import type { Clock } from '../lib/clock.js'
import { acceptTransaction, type Database, type Sql, type Transaction } from '../platform/database/database.js'
import type { Identity, User } from '../users/users.js'
import * as store from './identity-links.store.js'

/** An identity that was removed. Its provider may no longer be configured, or be unknown to this release. */
type UndoneIdentity = { provider: string; subject: string; undoneAt: Date }

export type IdentityLinks = ReturnType<typeof createIdentityLinks>

/** The identities at providers that sign a user in, and those that the user, an undo or an operator has removed. */
export const createIdentityLinks = ({ database, clock }: { database: Database; clock: Clock }) => ({
  /** False if the user already has an identity at this provider, or another user has the identity. */
  linkProvider: async (sql: Sql, userId: string, identity: Identity) =>
    (await store.insertIdentity(sql, userId, identity, clock.offset())).length > 0,
  /**
   * Unlinks a provider. A sign-in at the provider with the same address does not link it again, only a session of the user does. The caller
   * holds a lock on the user's row, so that of two removals at once the second sees what the first has left.
   */
  unlinkProvider: async (
    sql: Transaction,
    { id, providers, passwordHash }: User,
    provider: ProviderId,
    otherWays: { hasPasskey: boolean; isConfigured: (provider: ProviderId) => boolean },
  ) => {
    if (!providers.includes(provider)) return refuse('not_linked')
    const { hasPasskey, isConfigured } = otherWays
    const hasProvider = providers.some((each) => each !== provider && isConfigured(each))
    if (!canSignIn({ hasPassword: passwordHash !== undefined, hasProvider, hasPasskey })) return refuse('last_way_in')
    const linked = (await store.selectIdentities(sql, id)).filter((identity) => identity.provider === provider)
    const identities = linked.map(({ subject }) => ({ provider, subject }))
    await store.undoIdentities(sql, id, identities, clock.now())
    return undefined
  },
  identitiesOf: acceptTransaction(database)(async (sql, userId: string) =>
    (await store.selectIdentities(sql, userId)).flatMap(({ provider, subject, email, linked_at: linkedAt }) =>
      isProviderId(provider) ? [{ provider, subject, email, linkedAt }] : [],
    ),
  ),
  /**
   * Stores the address of the account at the provider, so that users see which account is linked. Changes nothing if the identity is not
   * linked.
   */
  noteEmail: async (identity: Identity, email: string) => {
    await store.updateIdentityEmail(database, identity, email)
  },
  /**
   * Removes identities, and remembers them even if they were unlinked meanwhile: an address does not link them again, only a session of the
   * user does. An identity may be the last way to sign in, so the caller gives the user another one.
   */
  unlinkAndRemember: async (sql: Sql, userId: string, identities: readonly Identity[]) => {
    await store.undoIdentities(sql, userId, identities, clock.now())
  },
  isUndone: async (sql: Sql, userId: string, identity: Identity) =>
    (await store.selectUndone(sql, userId, identity)).length > 0,
  forgetUndone: async (sql: Sql, userId: string, identity: Identity) => {
    await store.forgetUndone(sql, userId, identity)
  },
  undoneIdentitiesOf: async (userId: string): Promise<UndoneIdentity[]> =>
    (await store.selectAllUndone(database, userId)).map(({ provider, subject, undone_at: undoneAt }) => ({
      provider,
      subject,
      undoneAt,
    })),
})
