import { longestPasskeyName } from '../contract/names.js'
import { refuse } from '../contract/outcome.js'
import type { Clock } from '../lib/clock.js'
import { uuidv7 } from '../lib/uuid.js'
import { acceptTransaction, type Database, type Sql, type Transaction } from '../platform/database/database.js'
import type { Providers } from '../providers/providers.js'
import { displayName } from '../users/names.js'
import type { User } from '../users/users.js'

import { type NewPasskey, type ProvenPasskey, reject } from './passkey-answers.js'
import { createPasskeyRecords, fromRow } from './passkey-records.js'
import * as store from './passkeys.store.js'
import { createRemovePasskey } from './remove-passkey.js'
import type { RelyingParty } from './verification.js'

export type { NewPasskey, ProvenPasskey } from './passkey-answers.js'

const maxPasskeys = 25

/** The name without characters that cannot be shown. Null if nothing is left. */
export const passkeyName = (text: string) => displayName(text, longestPasskeyName)

type Dependencies = {
  database: Database
  clock: Clock
  relyingParty: RelyingParty
  /** The sign-in providers that are configured. `remove` needs them to keep the last way to sign in. */
  providers: Providers
}

export type Passkeys = ReturnType<typeof createPasskeys>

/** The passkeys of accounts. How a browser makes and uses them is in `passkey-ceremonies`. */
export const createPasskeys = (deps: Dependencies) => {
  const { database, clock, relyingParty } = deps

  /** Stores a new passkey. The caller holds a lock on the user's row. */
  const add = async (sql: Transaction, user: User, newPasskey: NewPasskey, wantedName: string) => {
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
  }

  return {
    ...createPasskeyRecords({ database }),
    /** False if the passkey was removed or used meanwhile. */
    accept: async (sql: Sql, { id, counter, synced }: ProvenPasskey) =>
      (await store.acceptUse(sql, { id, counter, synced, now: clock.now() })).length > 0,
    add,
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
    /** Undefined if this user has no such passkey. */
    rename: async (sql: Sql, id: string, userId: string, name: string) => {
      const [row] = await store.rename(sql, id, userId, name)
      return row && fromRow(row)
    },
    remove: createRemovePasskey(deps),
  }
}
