import { type Clock, later } from '../../lib/clock.js'
import { minutes } from '../../lib/durations.js'
import { fingerprint } from '../../lib/random.js'
import type { Database, Sql } from '../../platform/database/database.js'
import * as store from './one-time-tokens.store.js'

export const resetLifetime = 30 * minutes

export type OneTimeTokens = ReturnType<typeof createOneTimeTokens>

export const createOneTimeTokens = ({ database, clock }: { database: Database; clock: Clock }) => ({
  /** Makes this token the user's only reset. The caller holds a lock on the user's row, so that of several at once one remains. */
  replaceReset: async (sql: Sql, userId: string, token: string) => {
    await store.deleteOfUser(sql, userId, 'reset_password')
    await store.insertToken(sql, {
      hash: fingerprint(token),
      purpose: 'reset_password',
      userId,
      expiresAt: later(clock.now(), resetLifetime),
    })
  },
  /** After a change of the password no older reset link works. */
  forgetResets: (sql: Sql, userId: string) => store.deleteOfUser(sql, userId, 'reset_password'),
  /** The user of a reset token, without using the token. */
  peekReset: async (token: string) => {
    const [row] = await store.selectToken(database, fingerprint(token), 'reset_password', clock.now())
    return row?.user_id
  },
  takeReset: async (sql: Sql, token: string) => {
    const [row] = await store.takeToken(sql, fingerprint(token), 'reset_password', clock.now())
    return row?.user_id
  },
  /** Marks a value as used until it expires. False if it was used before. */
  useOnce: async (purpose: 'provider_attempt' | 'passkey_challenge', hash: Uint8Array, expiresAt: Date) =>
    (await store.insertToken(database, { hash, purpose, userId: null, expiresAt })).length > 0,
})
