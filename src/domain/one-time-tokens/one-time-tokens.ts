import { type Clock, later } from '../../lib/clock.js'
import { minutes } from '../../lib/durations.js'
import { fingerprint } from '../../lib/random.js'
import type { Database, Sql } from '../../platform/database/database.js'
import * as store from './one-time-tokens.store.js'

export const resetLifetime = 30 * minutes

export type OneTimeTokens = ReturnType<typeof createOneTimeTokens>

/**
 * The purposes of tokens with which a password can be chosen. Anyone can ask for a reset. A restore link is only in the mail to an
 * owner who has got a stolen account back and has to choose a new password.
 */
const passwordPurposes = ['reset_password', 'restore_account'] as const

export const createOneTimeTokens = ({ database, clock }: { database: Database; clock: Clock }) => {
  /**
   * A user has one token of each purpose. The caller holds the user's row, because parallel requests could otherwise leave several tokens.
   */
  const replace = async (
    sql: Sql,
    userId: string,
    token: string,
    details: { purpose: (typeof passwordPurposes)[number]; applicationId?: string | undefined },
  ) => {
    await store.deleteOfUser(sql, userId, details.purpose)
    const expiresAt = later(clock.now(), resetLifetime)
    await store.insertToken(sql, { hash: fingerprint(token), userId, expiresAt, ...details })
  }

  return {
    /** `applicationId`: the application that the user came from. */
    replaceReset: (sql: Sql, userId: string, token: string, applicationId?: string) =>
      replace(sql, userId, token, { purpose: 'reset_password', applicationId }),
    /** A restore link has its own purpose, so that a reset that a stranger asks for does not replace it. */
    replaceRestoreLink: (sql: Sql, userId: string, token: string) =>
      replace(sql, userId, token, { purpose: 'restore_account' }),
    forgetResets: async (sql: Sql, userId: string) => {
      await store.deleteOfUser(sql, userId, 'reset_password')
    },
    forgetRestoreLinks: async (sql: Sql, userId: string) => {
      await store.deleteOfUser(sql, userId, 'restore_account')
    },
    /** The user of a token with which a password can be chosen, without using the token. */
    findPasswordToken: async (token: string) => {
      const [row] = await store.selectToken(database, fingerprint(token), passwordPurposes, clock.now())
      return row && { userId: row.user_id, applicationId: row.application_id ?? undefined }
    },
    takePasswordToken: async (sql: Sql, token: string) => {
      const [row] = await store.takeToken(sql, fingerprint(token), passwordPurposes, clock.now())
      return row?.user_id
    },
    /** Marks a value as used until it expires. False if it was used before. */
    useOnce: async (purpose: 'provider_attempt' | 'passkey_challenge', hash: Uint8Array, expiresAt: Date) =>
      (await store.insertToken(database, { hash, purpose, userId: null, expiresAt })).length > 0,
  }
}
