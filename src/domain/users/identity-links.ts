import { refuse } from '../../contract/outcome.js'
import { isProviderId, type ProviderId } from '../../contract/providers.js'
import type { Clock } from '../../lib/clock.js'
import type { Database, Sql, Transaction } from '../../platform/database/database.js'
import { createOptionalTransaction } from '../../platform/database/optional-transaction.js'
import { canSignIn } from '../sign-in/ways-to-sign-in.js'
import type { User } from './users.js'
import * as store from './users.store.js'

/** At a provider that may be configured no longer, or is unknown to this program. */
type UndoneIdentity = { provider: string; subject: string; undoneAt: Date }

export type IdentityLinks = ReturnType<typeof createIdentityLinks>

/** The identities at providers that sign a user in, and those that an undo has taken away. */
export const createIdentityLinks = ({ database, clock }: { database: Database; clock: Clock }) => ({
  /** False when the user has an identity at this provider, or the identity a user. */
  linkProvider: async (sql: Sql, userId: string, identity: store.Identity) =>
    (await store.insertIdentity(sql, userId, identity, clock.offset())).length > 0,
  /** The caller holds a lock on the user's row, so that of two removals at once the second sees what the first has left. */
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
    await store.deleteIdentity(sql, id, provider)
    return undefined
  },
  identitiesOf: createOptionalTransaction(database)(async (sql, userId: string) =>
    (await store.selectIdentities(sql, userId)).flatMap(({ provider, subject, email, linked_at: linkedAt }) =>
      isProviderId(provider) ? [{ provider, subject, email, linkedAt }] : [],
    ),
  ),
  /** The address of the account at the provider: users see which one is linked. Nothing if the identity is not linked. */
  noteEmail: async (identity: store.Identity, email: string) => {
    await store.updateIdentityEmail(database, identity, email)
  },
  /**
   * An address does not link them again: only a session of the user does. Also if they were unlinked in the meantime. One may be
   * the last way in: the caller gives the user another one.
   */
  undoLinks: async (sql: Sql, userId: string, identities: readonly store.Identity[]) => {
    await store.undoIdentities(sql, userId, identities, clock.now())
  },
  isUndone: async (sql: Sql, userId: string, identity: store.Identity) =>
    (await store.selectUndone(sql, userId, identity)).length > 0,
  forgetUndone: async (sql: Sql, userId: string, identity: store.Identity) => {
    await store.forgetUndone(sql, userId, identity)
  },
  undoneIdentitiesOf: async (userId: string): Promise<UndoneIdentity[]> =>
    (await store.selectAllUndone(database, userId)).map(({ provider, subject, undone_at: undoneAt }) => ({
      provider,
      subject,
      undoneAt,
    })),
})
