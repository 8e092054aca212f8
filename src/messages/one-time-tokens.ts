import { type Clock, later } from '../lib/clock.js'
import { hours, minutes } from '../lib/durations.js'
import { fingerprint } from '../lib/random.js'

import type { Database, Sql, Transaction } from '../platform/database/database.js'
import * as store from './links-and-codes.store.js'

export const resetLifetime = 30 * minutes
/** An operator hands a printed link over, which takes longer than a mail. */
const printedLifetime = 24 * hours

export type OneTimeTokens = ReturnType<typeof createOneTimeTokens>

/**
 * The purposes of tokens with which a password can be chosen. Anyone can ask for a reset. A restore link is only in the mail to an
 * owner who has got a stolen account back and has to choose a new password. A printed link is only on the screen of an operator. Each has
 * its own purpose, so that a reset that a stranger asks for does not replace it.
 */
const passwordPurposes = ['reset_password', 'printed_reset', 'restore_account'] as const

export const createOneTimeTokens = ({ database, clock }: { database: Database; clock: Clock }) => {
  /**
   * A user has one token of each purpose. The caller holds the user's row, because parallel requests could otherwise leave several tokens.
   */
  const replace = async (
    sql: Transaction,
    userId: string,
    token: string,
    details: { purpose: (typeof passwordPurposes)[number]; applicationId?: string | undefined },
  ) => {
    const expiresAt = later(clock.now(), details.purpose === 'printed_reset' ? printedLifetime : resetLifetime)
    await Promise.all([
      store.deleteOfUser(sql, userId, [details.purpose]),
      store.insertToken(sql, { hash: fingerprint(token), userId, expiresAt, ...details }),
    ])
    return expiresAt
  }

  return {
    /** `applicationId`: the application that the user came from. */
    replaceReset: (sql: Transaction, userId: string, token: string, applicationId?: string) =>
      replace(sql, userId, token, { purpose: 'reset_password', applicationId }),
    /** Returns when the link expires. */
    replacePrinted: (sql: Transaction, userId: string, token: string) =>
      replace(sql, userId, token, { purpose: 'printed_reset' }),
    replaceRestoreLink: (sql: Transaction, userId: string, token: string) =>
      replace(sql, userId, token, { purpose: 'restore_account' }),
    forgetResets: async (sql: Sql, userId: string) => {
      await store.deleteOfUser(sql, userId, ['reset_password', 'printed_reset'])
    },
    forgetRestoreLinks: async (sql: Sql, userId: string) => {
      await store.deleteOfUser(sql, userId, ['restore_account'])
    },
    /** The user of a token with which a password can be chosen, without using the token. */
    findPasswordToken: async (token: string) => {
      const [row] = await store.selectToken(database, fingerprint(token), passwordPurposes, clock.now())
      return row && { userId: row.user_id, applicationId: row.application_id ?? undefined }
    },
    /** Uses the token up. `isPrinted`: it was printed for an operator, so it proves no address. */
    takePasswordToken: async (sql: Sql, token: string) => {
      const [row] = await store.takeToken(sql, fingerprint(token), passwordPurposes, clock.now())
      return row && { isPrinted: row.purpose === 'printed_reset' }
    },
    /** Marks a value as used until it expires. False if it was used before. */
    useOnce: async (purpose: 'provider_attempt' | 'passkey_challenge', hash: Uint8Array, expiresAt: Date) =>
      (await store.insertToken(database, { hash, purpose, userId: null, expiresAt })).length > 0,
  }
}
