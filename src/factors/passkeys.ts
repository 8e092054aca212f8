import { longestPasskeyName } from '../contract/name-lengths.js'
import { refuse } from '../contract/outcome.js'
import type { ProviderId } from '../contract/providers.js'
import type { Clock } from '../lib/clock.js'
import { uuidv7 } from '../lib/uuid.js'
import { acceptTransaction, type Database, type Sql, type Transaction } from '../platform/database/database.js'
import { displayName } from '../users/names.js'
import type { User } from '../users/users.js'
import { type NewPasskey, type ProvenPasskey, type RelyingParty, reject } from './passkey-ceremonies.js'
import * as store from './passkeys.store.js'
import { canSignIn } from './ways-to-sign-in.js'

export type { NewPasskey, ProvenPasskey } from './passkey-ceremonies.js'

/** A passkey as its owner sees it. */
export type Passkey = { id: string; name: string; createdAt: Date; lastUsedAt: Date | null; synced: boolean }

const fromRow = (row: store.PasskeyRow): Passkey => ({
  id: row.id,
  name: row.name,
  createdAt: row.created_at,
  lastUsedAt: row.last_used_at,
  synced: row.synced,
})

/** Counts all passkeys, and those that no browser offers any more, because they were made for another host. */
export const countPasskeysByHost = async (sql: Sql, host: string) => {
  const [row] = await store.countByHost(sql, host)
  return { all: row?.all ?? 0, forOtherHosts: row?.for_other_hosts ?? 0 }
}

const maxPasskeys = 25

/** The name without characters that cannot be shown. Null if nothing is left. */
export const passkeyName = (text: string) => displayName(text, longestPasskeyName)

export type Passkeys = ReturnType<typeof createPasskeys>

/** The passkeys of accounts. How a browser makes and uses them is in `passkey-ceremonies`. */
export const createPasskeys = ({
  database,
  clock,
  relyingParty,
  providerIds,
}: {
  database: Database
  clock: Clock
  relyingParty: RelyingParty
  /** The sign-in providers that are configured. `remove` needs them to keep the last way to sign in. */
  providerIds: readonly ProviderId[]
}) => ({
  list: acceptTransaction(database)(async (sql, userId: string) =>
    (await store.selectOfUser(sql, userId)).map(fromRow),
  ),
  /** How many passkeys can sign this user in. Passkeys of an earlier host cannot. */
  countUsable: acceptTransaction(database)(async (sql, userId: string) => {
    const [row] = await store.countUsable(sql, userId, relyingParty.id)
    return row?.count ?? 0
  }),
  /** The hosts of the passkeys that cannot sign the user in, one for each passkey. */
  otherHostsOf: async (userId: string) =>
    (await store.selectOfUser(database, userId))
      .map((row) => row.relying_party)
      .filter((host) => host !== relyingParty.id),

  /** Stores a new passkey. The caller holds a lock on the user's row. */
  add: async (sql: Transaction, user: User, newPasskey: NewPasskey, wantedName: string) => {
    if ((await store.selectOfUser(sql, user.id)).length >= maxPasskeys) return refuse('too_many_passkeys')
    const name = passkeyName(wantedName) ?? 'Passkey'
    const [row] = await store.insert(sql, {
      id: uuidv7(clock.now()),
      user_id: user.id,
      credential_id: Buffer.from(newPasskey.credentialId, 'base64url'),
      public_key: Buffer.from(newPasskey.publicKey),
      counter: newPasskey.counter,
      transports: newPasskey.transports,
      relying_party: relyingParty.id,
      name,
      synced: newPasskey.synced,
      clockOffset: clock.offset(),
    })
    // Without a row, the credential belongs to an account already.
    return row ? fromRow(row) : reject('wrong_passkey', user.id)
  },
  /** False if the passkey was removed or used meanwhile. */
  accept: async (sql: Sql, { id, counter, synced }: ProvenPasskey) =>
    (await store.acceptUse(sql, { id, counter, synced, now: clock.now() })).length > 0,
  /** Undefined if this user has no such passkey. */
  rename: async (sql: Sql, id: string, userId: string, name: string) => {
    const [row] = await store.rename(sql, id, userId, name)
    return row && fromRow(row)
  },

  /**
   * Removes a passkey. The last way to sign in stays, and with `mustKeepPasskey` also the last usable passkey. The caller holds a lock on
   * the user's row, so that of two removals at once the second sees the first.
   */
  remove: async (sql: Transaction, user: User, id: string, { mustKeepPasskey }: { mustKeepPasskey: boolean }) => {
    const rows = await store.selectOfUser(sql, user.id)
    const passkeyRow = rows.find((row) => row.id === id)
    if (!passkeyRow) return refuse('not_found')
    const hasPasskey = rows.some((row) => row.id !== id && row.relying_party === relyingParty.id)
    if (mustKeepPasskey && !hasPasskey && passkeyRow.relying_party === relyingParty.id) return refuse('last_factor')
    const hasProvider = user.providers.some((provider) => providerIds.includes(provider))
    if (!canSignIn({ hasPassword: user.passwordHash !== undefined, hasProvider, hasPasskey }))
      return refuse('last_way_in')
    await store.remove(sql, id)
    return fromRow(passkeyRow)
  },
  /**
   * Removes passkeys, even if they are the last way to sign in: the caller gives the user another way, and tells the user. Returns how many
   * were removed.
   */
  removeSome: async (sql: Transaction, userId: string, ids: readonly string[]) =>
    (await store.removeSome(sql, userId, ids)).length,
  /** Returns how many passkeys were removed. The caller tells the user. */
  removeAll: async (sql: Transaction, userId: string) => (await store.removeAll(sql, userId)).length,
})
