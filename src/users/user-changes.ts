import type { Language } from '../contract/languages.js'
import type { BuiltInField } from '../contract/schemas.js'
import { type Clock, later } from '../lib/clock.js'
import { hours } from '../lib/durations.js'
import { acceptTransaction, type Database, type Sql, type Transaction } from '../platform/database/database.js'
import type { BuiltInValues } from './built-in-fields.js'
import type { Email } from './email.js'
import * as store from './users.store.js'

/** How long an account can add its first second factor without a mailed code, after a printed link or the setup. */
const enrolmentSpan = 24 * hours

type FormerEmail = { email: string; replacedAt: Date }

export type UserChanges = ReturnType<typeof createUserChanges>

/** Changes of the row of a user, which the caller holds. */
export const createUserChanges = ({ database, clock }: { database: Database; clock: Clock }) => ({
  setPassword: async (sql: Sql, userId: string, passwordHash: string) => {
    await store.updatePassword(sql, userId, passwordHash)
  },
  /**
   * Changes the address. False if it is reserved for another user. An address that another user has is a unique violation. `isProven`: a
   * mail of ours or the word of a provider has proven it.
   */
  setEmail: async (sql: Sql, userId: string, email: Email, { isProven }: { isProven: boolean }) => {
    await store.releaseEmail(sql, email.key, clock.offset())
    return (await store.updateEmail(sql, userId, email, isProven, clock.now())).length > 0
  },
  /** Notes that the present address is proven: a link in our mail was used, or a provider has verified it. */
  proveEmail: async (sql: Sql, userId: string) => {
    await store.proveEmail(sql, userId)
  },
  /**
   * Lets the account add its first second factor for a day without a mailed code, because an operator has handed its user a printed link,
   * or the setup has just made it.
   */
  openEnrolment: async (sql: Sql, userId: string) => {
    await store.openEnrolment(sql, userId, later(clock.now(), enrolmentSpan))
  },
  /** The addresses that the account had in the last 90 days, the oldest first. */
  emailHistoryOf: acceptTransaction(database)(async (sql, userId: string): Promise<FormerEmail[]> => {
    const rows = await store.selectFormerEmails(sql, userId)
    return rows.map(({ email, replaced_at }) => ({ email, replacedAt: replaced_at }))
  }),
  /** Takes an account back: no sign-in that began before gets a session, and without a hash no password works. */
  takeBack: async (sql: Sql, userId: string, passwordHash: string | undefined) => {
    await store.takeBack(sql, userId, passwordHash ?? null)
  },
  /** Removes the password. The user can set a new one by a reset. The caller also ends the user's sessions. */
  expirePassword: async (sql: Sql, userId: string) => {
    await store.updatePassword(sql, userId, null)
  },
  replaceHash: async (userId: string, oldHash: string, newHash: string) =>
    (await store.replaceHash(database, userId, oldHash, newHash)).length > 0,
  /** Returns whether this user signs in for the first time. An account without a language gets this one. */
  noteSignIn: async (sql: Sql, userId: string, language: Language | undefined) => {
    const [notedRow] = await store.noteSignIn(sql, userId, clock.now(), language ?? null)
    return notedRow?.is_first ?? false
  },
  setField: async <Name extends BuiltInField>(
    sql: Sql,
    userId: string,
    field: Name,
    value: NonNullable<BuiltInValues[Name]> | null,
  ) => {
    await store.updateBuiltInField(sql, userId, field, value)
  },
  /** Deletes the user, and everything that refers to them. */
  remove: async (sql: Sql, userId: string) => (await store.deleteUser(sql, userId)).length > 0,
  disable: async (sql: Transaction, userId: string, { isLockDown = false } = {}) => {
    await (isLockDown ? store.lockDown : store.disable)(sql, userId, clock.now())
  },
  enable: async (sql: Transaction, userId: string, { isOwnerInDoubt }: { isOwnerInDoubt: boolean }) => {
    await store.enable(sql, userId, isOwnerInDoubt)
  },
})
