import { createHmac } from 'node:crypto'
import { type Refused, refuse } from '../contract/outcome.js'
import { type Clock, later } from '../lib/clock.js'
import { days } from '../lib/durations.js'
import type { Key } from '../lib/random.js'
import { acceptTransaction, type Database, type Sql, type Transaction } from '../platform/database/database.js'
import { readLogin } from './login-names.js'
import { imitatedKey, type Username, usernameKey } from './names.js'
import * as store from './users.store.js'

/** How long a former username stays with its owner. Links, mentions and programs that know users by name still use it. */
export const usernameReservedFor = 30 * days
/** The most former names of a user, so that no user collects names. */
const maxFormerNames = 5

type NamedUser = { id: string; username: string }
export type RenameRefusal = Refused<'username_taken'> | (Refused<'too_many_usernames'> & { freeFrom: Date })

/** `counts`: whether the name counts towards the most former names that a user may have. */
type FormerUsername = { username: string; key: string; reservedUntil: Date; counts: boolean }

const fromRow = ({ username, username_key, reserved_until, counts }: store.ReservedRow): FormerUsername => ({
  username,
  key: username_key,
  reservedUntil: reserved_until,
  counts,
})

/** The names that are still reserved for the user, the oldest first. */
const formerNames = async (sql: Sql, userId: string, now: Date) =>
  (await store.selectOfUser(sql, userId, now)).map(fromRow)

type Given = { database: Database; clock: Clock; reserved?: readonly string[] | undefined }

export type Usernames = ReturnType<typeof createUsernames>

/**
 * Decides which user may have which name. `reserved` are the keys of names that users cannot take (`RESERVED_USERNAMES`). The database
 * checks last: a name that was taken or reserved meanwhile is a unique violation.
 */
export const createUsernames = ({ database, clock, reserved = [] }: Given) => {
  const optionalTransaction = acceptTransaction(database)
  const isReserved = (key: string) => reserved.includes(imitatedKey(key))

  const isTaken = async (sql: Sql, key: string, userId: string | null = null) =>
    (await store.selectHolder(sql, key, userId, clock.now())).length > 0

  /** The refusal if this user cannot have the name. Another spelling of the present name is never refused. */
  const refusalFor = async (sql: Transaction, user: NamedUser, next: Username): Promise<RenameRefusal | undefined> => {
    if (next.key === usernameKey(user.username)) return undefined
    const former = await formerNames(sql, user.id, clock.now())
    const otherNames = former.filter(({ key }) => key !== next.key)
    const wasMine = otherNames.length < former.length
    if ((!wasMine && isReserved(next.key)) || (await isTaken(sql, next.key, user.id))) return refuse('username_taken')
    const countedNames = otherNames.filter(({ counts }) => counts)
    const [oldest] = countedNames
    return oldest && countedNames.length >= maxFormerNames
      ? refuse('too_many_usernames', { freeFrom: oldest.reservedUntil })
      : undefined
  }

  /** Changes the name, after `refusalFor` in the same transaction. The caller holds a lock on the user's row. */
  const rename = async (sql: Transaction, user: NamedUser, next: Username) => {
    const former = { username: user.username, key: usernameKey(user.username) }
    if (next.key !== former.key) {
      await store.deleteExpired(sql, [next.key], clock.now())
      await store.deleteReservation(sql, user.id, next.key)
      await store.reserve(sql, user.id, former, later(clock.now(), usernameReservedFor))
    }
    await store.updateUsername(sql, user.id, next)
  }

  /** Gives a former name back with its account. Names that were chosen in between stay reserved, and do not count. */
  const takeBack = async (sql: Transaction, user: NamedUser, next: Username) => {
    const former = await formerNames(sql, user.id, clock.now())
    const reservation = former.find(({ key }) => key === next.key)
    await rename(sql, user, next)
    if (reservation) await store.stopCounting(sql, user.id, reservation.reservedUntil)
  }

  return {
    /** The names that no user may take. `key` is included if it imitates one of them. */
    reservedNamesWith: (key: string) => (isReserved(key) ? [...reserved, key] : reserved),
    isTaken,
    /** Whether a new user can choose the name. */
    mayBeChosen: async ({ key }: Username) => !isReserved(key) && !(await isTaken(database, key)),
    /** Deletes the reservations of these names that have expired. */
    release: async (sql: Sql, keys: readonly string[]) => {
      await store.deleteExpired(sql, keys, clock.now())
    },
    refusalFor,
    rename,
    takeBack,
    formerOwner: async (name: string) => {
      const [row] = await store.selectFormerOwner(database, usernameKey(name), clock.now())
      return row?.user_id
    },
    formerNamesOf: optionalTransaction((sql, userId: string) => formerNames(sql, userId, clock.now())),
  }
}

export type NameMarks = ReturnType<typeof createNameMarks>

/**
 * A mark that is kept and counted instead of a typed name. People type passwords into the name field, so the name itself must not be
 * stored. A mark is a short keyed hash. Spellings that the sign-in takes for the same name have the same mark. So marks show whether two
 * attempts used the same name, and an operator who knows the name can find its attempts.
 */
export const createNameMarks = (keys: readonly Key[]) => {
  const markWith = (key: Key, name: string) =>
    createHmac('sha256', key).update(readLogin(name).key).digest('hex').slice(0, 12)
  return {
    of: (name: string) => (keys[0] ? markWith(keys[0], name) : undefined),
    /** The marks with every secret that is still configured, for a search. */
    all: (name: string) => keys.map((key) => markWith(key, name)),
  }
}
