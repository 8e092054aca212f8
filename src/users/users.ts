import type { Language } from '../contract/languages.js'
import type { FieldValues } from '../contract/profile-fields.js'
import { isProviderId, type ProviderId } from '../contract/providers.js'
import type { BuiltInField } from '../contract/schemas.js'
import { type Clock, later } from '../lib/clock.js'
import { hours } from '../lib/durations.js'
import { isUuid } from '../lib/uuid.js'
import { acceptTransaction, type Database, type Sql, type Transaction } from '../platform/database/database.js'
import { type BuiltInValues, readBuiltInFields } from './built-in-fields.js'
import { type LoginNameKind, readLogin } from './login-names.js'
import { type Email, emailKey } from './names.js'
import * as store from './users.store.js'

export type { Identity } from './users.store.js'

/** A user. Mails about the account are in `language`. It is undefined for an account without a language until the next sign-in sets it. */
export type User = BuiltInValues & {
  id: string
  email: string
  username: string
  provider: ProviderId | null
  providers: ProviderId[]
  /** The names of the groups, sorted. */
  groups: readonly string[]
  /** The values of profile fields, including fields that the file no longer has. `profileFields.knownValues` leaves those out. */
  fields: FieldValues
  /** Whether a mail of ours or the word of a provider has proven the address. */
  emailProven: boolean
  /**
   * Whether nobody but the person who typed it, at the setup or with a printed invitation, says that the address is theirs. It opens
   * nothing until it is proven: no mail to it lets anyone in, nor does an identity that has it.
   */
  emailClaimed: boolean
  /** Until then the first second factor can be added without a mailed code: see `openEnrolment`. */
  firstFactorUntil: Date | undefined
  passwordHash: string | undefined
  createdAt: Date
  disabled: boolean
  /** When an operator locked the account down, to protect it from a thief. Undefined if it is not locked down. */
  lockedDownAt: Date | undefined
  /**
   * Whether the password is from before a lock-down. Then it expires when the account is enabled. It stays true without a password if the
   * owner is in doubt (`isOwnerInDoubt`).
   */
  passwordDistrusted: boolean
  /** How often the account was taken back, by an undo link or by an operator. */
  undoCount: number
  hasSignedIn: boolean
}

const fromRow = (row: store.UserRow): User => ({
  id: row.id,
  email: row.email,
  username: row.username,
  ...readBuiltInFields(row),
  provider: isProviderId(row.provider) ? row.provider : null,
  providers: row.providers.filter(isProviderId),
  groups: row.groups,
  fields: row.fields,
  emailProven: row.email_proven,
  emailClaimed: row.email_claimed,
  firstFactorUntil: row.first_factor_until ?? undefined,
  passwordHash: row.password_hash ?? undefined,
  createdAt: row.created_at,
  disabled: row.disabled_at !== null,
  lockedDownAt: (row.disabled_at && row.locked_down_at) ?? undefined,
  passwordDistrusted: row.password_distrusted,
  undoCount: row.undo_count,
  hasSignedIn: row.has_signed_in,
})

export const firstUser = async (rows: Promise<store.UserRow[]>) => {
  const [row] = await rows
  return row && fromRow(row)
}

/** The user who had this address until a short time ago, and for whom it is reserved. */
export const ownerOfReserved = async (sql: Sql, email: string, clockOffset: number) => {
  const [row] = await store.selectReservation(sql, emailKey(email), clockOffset)
  return row?.user_id
}

const selectByLogin: Record<LoginNameKind, typeof store.selectByEmail> = {
  email: store.selectByEmail,
  username: store.selectByUsername,
}

const locks = {
  /** Keeps the user from being deleted before the transaction ends, for a mail that says whose address it is. */
  holdByEmail: (sql: Transaction, email: string) => firstUser(store.holdByEmail(sql, emailKey(email))),
  /**
   * Locks the user who has the address, and the user for whom it is reserved, before the transaction locks other rows about the address.
   * The deletion of a user locks in the same order, so the two cannot deadlock.
   */
  lockUsersOfAddress: async (sql: Transaction, email: string) => {
    await store.lockUsersOfAddress(sql, emailKey(email))
  },
  /**
   * The user as it is now, locked until the transaction ends. The user is selected after the lock, because a statement that waits for a
   * lock still sees former providers.
   */
  lock: async (sql: Transaction, id: string) => {
    const locked = store.lockById(sql, id)
    const [user] = await Promise.all([firstUser(store.selectById(sql, id)), locked])
    return user
  },
  /** Like `lock`, but undefined if an operator has disabled the user. */
  lockEnabled: async (sql: Transaction, id: string) => {
    const user = await locks.lock(sql, id)
    return user?.disabled ? undefined : user
  },
  /**
   * Locks the user, and returns whether they have this identity. The identity is selected after the lock, because a statement that waits
   * for a lock still sees former identities.
   */
  lockLinked: async (sql: Transaction, id: string, identity: store.Identity) => {
    const locked = store.lockById(sql, id)
    const [identities] = await Promise.all([store.selectIdentity(sql, id, identity), locked])
    return identities.length > 0
  },
}

/**
 * Whether the account was locked down, and enabled while a former owner could take it back. Until the former owner does, or an
 * administrator mails a link, no mail to the present address lets anyone in, nor does an identity that has this address. That does not
 * end with the undo links: an owner on a holiday would lose the account to the thief.
 */
export const isOwnerInDoubt = ({ passwordDistrusted, passwordHash }: User) =>
  passwordDistrusted && passwordHash === undefined

/** Whether a mail to the present address, or an identity that has it, may let anyone in. */
export const isAddressTrusted = (user: User) => !user.emailClaimed && !isOwnerInDoubt(user)

export type Users = ReturnType<typeof createUsers>

/** Finds users, and locks them for a change. */
export const createUsers = ({ database, clock }: { database: Database; clock: Clock }) => {
  const optionalTransaction = acceptTransaction(database)
  const findById = optionalTransaction((sql, id: string) => firstUser(store.selectById(sql, id)))
  const findByEmail = optionalTransaction((sql, email: string) => firstUser(store.selectByEmail(sql, emailKey(email))))
  const findByIdentity = (identity: store.Identity) => firstUser(store.selectByIdentity(database, identity))

  /** Finds a user by the name in the sign-in form. */
  const findByLogin = (login: string) => {
    const { kind, key } = readLogin(login)
    return firstUser(selectByLogin[kind](database, key))
  }

  return {
    findById,
    /** Finds a user by username, email or id. */
    findNamed: async (name: string) =>
      (isUuid(name.toLowerCase()) ? await findById(name.toLowerCase()) : undefined) ?? (await findByLogin(name)),
    /** Undefined if there is no such user, or an operator has disabled them. */
    findEnabled: optionalTransaction(async (sql, id: string) => {
      const user = await findById(sql, id)
      return user?.disabled ? undefined : user
    }),
    ...locks,
    /** Locks a user who will be deleted. It also waits for rows that refer to the user and are not committed yet. */
    lockForDeletion: async (sql: Transaction, id: string) => {
      await store.waitForOtherDeletions(sql)
      return firstUser(store.lockForDeletion(sql, id))
    },
    findByEmail,
    reservedFor: optionalTransaction((sql, email: string) => ownerOfReserved(sql, email, clock.offset())),
    findByLogin,
    findByIdentity,
  }
}

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
  setEmail: async (sql: Transaction, userId: string, email: Email, { isProven }: { isProven: boolean }) => {
    const released = store.releaseEmail(sql, email.key, clock.offset())
    const [rows] = await Promise.all([store.updateEmail(sql, userId, email, isProven, clock.now()), released])
    return rows.length > 0
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
