import type { Language } from '../contract/languages.js'
import { isRefused, type Refused, refuse } from '../contract/outcome.js'
import type { FieldValues } from '../contract/profile-fields.js'
import type { Clock } from '../lib/clock.js'
import { uuidv7 } from '../lib/uuid.js'
import { type Database, isUniqueViolation, type Sql, type Transaction } from '../platform/database/database.js'
import { isNameViolation, type LoginNameKind, loginNameKinds, loginNames } from './login-names.js'
import { type Email, type Username, usernameFrom, usernameFromEmail, withSuffix } from './names.js'
import type { Usernames } from './usernames.js'
import { firstUser, ownerOfReserved, type User } from './users.js'
import * as store from './users.store.js'

export type NewUser = {
  email: Email
  username: Username
  name: string | null
  passwordHash: string
  /** Whether a link or a code in our mail has proven the address. */
  emailProven?: boolean
  /** Whether only the person who typed the address says that it is theirs. It opens nothing until it is proven. */
  emailClaimed?: boolean
  language?: Language | undefined
  fields?: FieldValues
}

/** A user who signs in by mail has no password, so the hash may be null. */
type UserToCreate = Omit<NewUser, 'passwordHash'> & { passwordHash: string | null }

/** Decides whether an account may be created, in the transaction that inserts it. */
type Admission<Refusal extends string> = (
  sql: Transaction,
  insert: () => Promise<User | undefined>,
) => Promise<User | undefined | Refused<Refusal>>
/** A new user from a provider, which has verified the address. `username` is the name that the user has at the provider. */
type ProviderUser = {
  email: Email
  username: string
  name: string | null
  identity: store.Identity
  language?: Language | undefined
}

/** Whether another request has just taken a name or an identity of a new user. */
export const isTakenMeanwhile = (error: unknown) =>
  loginNameKinds.some((kind) => isNameViolation(error, kind)) || isUniqueViolation(error, 'identities_taken')

const undefinedIfTaken = (error: unknown) => {
  if (isTakenMeanwhile(error)) return undefined
  throw error
}

const maxTries = 20

type Given = { database: Database; clock: Clock; usernames: Usernames }

type Names = { email: Email; username: Username }
const isTaken: Record<LoginNameKind, (given: Given, sql: Sql, names: Names) => Promise<boolean>> = {
  email: async ({ clock }, sql, { email }) => {
    const [owners, formerOwner] = await Promise.all([
      store.selectByEmail(sql, email.key),
      ownerOfReserved(sql, email.email, clock.offset()),
    ])
    return owners.length > 0 || formerOwner !== undefined
  },
  username: ({ usernames }, sql, { username }) => usernames.isTaken(sql, username.key),
}

export type NewUsers = ReturnType<typeof createNewUsers>

/** Creates accounts. */
export const createNewUsers = (given: Given) => {
  const { database, clock, usernames } = given
  /** The first free username that is made from a name or an address. It has a number if the plain username is taken. */
  const freeUsername = async (from: string, id = uuidv7(clock.now())) => {
    const firstChoice = usernameFrom(from)
    const reserved = usernames.reservedNamesWith(firstChoice.key)
    const [freeRow] = await store.selectFreeSuffix(database, firstChoice.key, reserved, clock.now())
    return withSuffix(firstChoice, freeRow?.suffix ?? id.slice(-6))
  }

  /**
   * Runs `attempt` with a free username, for a new user who has chosen none. If another user takes the name first, the next name is tried.
   */
  const withFreeUsername = async <Outcome>(
    email: Email,
    attempt: (username: Username) => Promise<Outcome>,
    isTaken: (outcome: Outcome) => boolean,
  ): Promise<Outcome> => {
    const next = async () => attempt(await freeUsername(usernameFromEmail(email).username))
    let outcome = await next()
    for (let tries = 1; tries < maxTries && isTaken(outcome); tries++) outcome = await next()
    return outcome
  }

  /** The refusal of the first name that is taken. Undefined if all are free. */
  const refusalIfTaken = async (sql: Sql, names: Names) => {
    const areTaken = await Promise.all(loginNameKinds.map(async (kind) => isTaken[kind](given, sql, names)))
    const taken = loginNameKinds.find((_, place) => areTaken[place])
    return taken && refuse(loginNames[taken].taken)
  }

  /**
   * Creates an account with names that were free when they were chosen. Throws a unique violation if the name is reserved for its former
   * owner.
   */
  const createWithFree = async (sql: Transaction, user: UserToCreate) => {
    const now = clock.now()
    sql.unawaited(usernames.release(sql, [user.username.key]), store.releaseEmail(sql, user.email.key, clock.offset()))
    const insert = () =>
      firstUser(store.insert(sql, { emailProven: false, emailClaimed: false, ...user, id: uuidv7(now), now }))
    const created = (await insert()) ?? (await refusalIfTaken(sql, user)) ?? (await insert())
    // Without a row, another transaction is deleting the expired reservation of the address. A later attempt succeeds.
    return created ?? refuse('email_taken')
  }

  const create = async (sql: Transaction, user: UserToCreate) =>
    (await refusalIfTaken(sql, user)) ?? createWithFree(sql, user)

  /**
   * Creates an account for a provider's user, with the given username or the first free one with a number. `admit` decides in
   * the same transaction whether the account may be created.
   */
  const createFromProvider = async <Refusal extends string = never>(
    user: ProviderUser,
    admit: Admission<Refusal> = (_sql, insert) => insert(),
  ): Promise<User | Refused<'provider_taken' | 'email_taken' | Refusal>> => {
    for (let tries = 0; tries < maxTries; tries++) {
      const now = clock.now()
      const id = uuidv7(now)
      const username = await freeUsername(user.username, id)
      await usernames.release(database, [username.key])
      await store.releaseEmail(database, user.email.key, clock.offset())
      const insertion = database.transaction((sql) =>
        admit(sql, () =>
          firstUser(store.insertFromProvider(sql, { ...user, username, id, now, clockOffset: clock.offset() })),
        ),
      )
      const created = await insertion.catch(undefinedIfTaken)
      if (created && !isRefused(created)) return created
      if (await firstUser(store.selectByIdentity(database, user.identity))) return refuse('provider_taken')
      if (await firstUser(store.selectByEmail(database, user.email.key))) return refuse('email_taken')
      if (created) return created
      if ((await ownerOfReserved(database, user.email.email, clock.offset())) !== undefined)
        return refuse('email_taken')
    }
    throw new Error('No free username was found')
  }

  return { createWithFree, create, freeUsername, withFreeUsername, createFromProvider }
}
