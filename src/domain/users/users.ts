import type { FieldValues } from '../../contract/profile-fields.js'
import { isProviderId, type ProviderId } from '../../contract/providers.js'
import type { Clock } from '../../lib/clock.js'
import { isUuid } from '../../lib/uuid.js'
import type { Database, Sql, Transaction } from '../../platform/database/database.js'
import { createOptionalTransaction } from '../../platform/database/optional-transaction.js'
import { emailKey } from './email.js'
import { type Profile, profileFrom } from './profile-fields.js'
import { usernameKey } from './username.js'
import * as store from './users.store.js'

/** A user. `language` of the profile is that of the mails about the account; undefined until the next sign-in sets it. */
export type User = Profile & {
  id: string
  email: string
  username: string
  provider: ProviderId | null
  providers: ProviderId[]
  /** Sorted. */
  groups: readonly string[]
  /** The values of profile fields, also of those that have left the file: `profileFields.knownValues` gives those of today. */
  fields: FieldValues
  /** By a mail of ours, or by the word of a provider. */
  emailProven: boolean
  passwordHash: string | undefined
  createdAt: Date
  disabled: boolean
  /** Disabled, and protected from a thief. */
  lockedDownAt: Date | undefined
  /** It is from before the lock-down, and ends when the account is enabled. */
  passwordDistrusted: boolean
  /** How often the account was taken back by an undo link. */
  undoCount: number
  hasSignedIn: boolean
}

export type { Identity } from './users.store.js'

const fromRow = (row: store.UserRow): User => ({
  id: row.id,
  email: row.email,
  username: row.username,
  ...profileFrom(row),
  provider: isProviderId(row.provider) ? row.provider : null,
  providers: row.providers.filter(isProviderId),
  groups: row.groups,
  fields: row.fields,
  emailProven: row.email_proven,
  passwordHash: row.password_hash ?? undefined,
  createdAt: row.created_at,
  disabled: row.disabled_at !== null,
  lockedDownAt: (row.disabled_at && row.locked_down_at) ?? undefined,
  passwordDistrusted: row.disabled_at !== null && row.password_distrusted,
  undoCount: row.undo_count,
  hasSignedIn: row.has_signed_in,
})

export const firstUser = async (rows: Promise<store.UserRow[]>) => {
  const [row] = await rows
  return row && fromRow(row)
}

/** An email if it has an `@`, which no username has. */
const isEmail = (login: string) => login.includes('@')

/** Names in the sign-in form with one key are the same name. */
export const loginKey = (login: string) => (isEmail(login) ? emailKey(login) : usernameKey(login))

/** The user who had this address until a short time ago: no other user gets it yet. */
export const ownerOfReserved = async (sql: Sql, email: string, clockOffset: number) => {
  const [row] = await store.selectReservation(sql, emailKey(email), clockOffset)
  return row?.user_id
}

const locks = {
  /** The user is not deleted before the transaction ends: for a mail that says whose address it is. */
  holdByEmail: (sql: Transaction, email: string) => firstUser(store.holdByEmail(sql, emailKey(email))),
  /** For a transaction that holds rows of this address: a deletion of one of these users takes them in the same order. */
  lockUsersOfAddress: async (sql: Transaction, email: string) => {
    await store.lockUsersOfAddress(sql, emailKey(email))
  },
  /** The user as it is now, locked until the transaction ends. The statement that waits for the lock still sees providers from before. */
  lock: async (sql: Transaction, id: string) => {
    await store.lockById(sql, id)
    return firstUser(store.selectById(sql, id))
  },
  /** The same, and undefined too if an operator has disabled the user. */
  lockEnabled: async (sql: Transaction, id: string) => {
    await store.lockById(sql, id)
    const user = await firstUser(store.selectById(sql, id))
    return user?.disabled ? undefined : user
  },
  /** Whether the user, who is locked then, has this identity. A statement that waits for a lock still sees those from before. */
  lockLinked: async (sql: Transaction, id: string, identity: store.Identity) => {
    await store.lockById(sql, id)
    return (await store.selectIdentity(sql, id, identity)).length > 0
  },
}

export type Users = ReturnType<typeof createUsers>

/** Finds users, and locks them for a change. */
export const createUsers = ({ database, clock }: { database: Database; clock: Clock }) => {
  const optionalTransaction = createOptionalTransaction(database)
  const findById = optionalTransaction((sql, id: string) => firstUser(store.selectById(sql, id)))
  const findByEmail = optionalTransaction((sql, email: string) => firstUser(store.selectByEmail(sql, emailKey(email))))
  const findByUsername = (username: string) => firstUser(store.selectByUsername(database, usernameKey(username)))
  const findByIdentity = (identity: store.Identity) => firstUser(store.selectByIdentity(database, identity))

  /** By the name in the sign-in form. */
  const findByLogin = (login: string) => (isEmail(login) ? findByEmail(login) : findByUsername(login))

  return {
    findById,
    /** By username, email or id. */
    findNamed: async (named: string) =>
      (isUuid(named.toLowerCase()) ? await findById(named.toLowerCase()) : undefined) ?? (await findByLogin(named)),
    /** Undefined, too, if an operator has disabled the user. */
    findEnabled: optionalTransaction(async (sql, id: string) => {
      const user = await findById(sql, id)
      return user?.disabled ? undefined : user
    }),
    ...locks,
    /** The same before the user is deleted: it also waits for rows that refer to the user and are not committed yet. */
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
