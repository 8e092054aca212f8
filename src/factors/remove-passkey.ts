import { refuse } from '../contract/outcome.js'
import type { Transaction } from '../platform/database/database.js'
import type { Providers } from '../providers/providers.js'
import type { User } from '../users/users.js'
import { fromRow } from './passkey-records.js'
import * as store from './passkeys.store.js'
import type { RelyingParty } from './verification.js'
import { canSignIn } from './ways-to-sign-in.js'

type Dependencies = { relyingParty: RelyingParty; providers: Providers }

/**
 * Removes a passkey. The last way to sign in stays, and with `mustKeepPasskey` also the last usable passkey. The caller holds a lock on the
 * user's row, so that of two removals at once the second sees the first.
 */
export const createRemovePasskey =
  ({ relyingParty, providers }: Dependencies) =>
  async (sql: Transaction, user: User, id: string, { mustKeepPasskey }: { mustKeepPasskey: boolean }) => {
    const rows = await store.selectOfUser(sql, user.id)
    const passkeyRow = rows.find((row) => row.id === id)
    if (!passkeyRow) return refuse('not_found')
    const isOtherUsable = (row: store.PasskeyRow) => row.id !== id && row.relying_party === relyingParty.id
    const hasPasskey = rows.some(isOtherUsable)
    if (mustKeepPasskey && !hasPasskey && passkeyRow.relying_party === relyingParty.id) return refuse('last_factor')
    const hasProvider = user.providers.some((provider) => providers[provider] !== undefined)
    if (!canSignIn({ hasPassword: user.passwordHash !== undefined, hasProvider, hasPasskey }))
      return refuse('last_way_in')
    await store.remove(sql, id)
    return fromRow(passkeyRow)
  }
