import type { Language } from '../../contract/languages.js'
import { isRefused, type Refused, refuse } from '../../contract/outcome.js'
import { isProviderId, type ProviderId } from '../../contract/providers.js'
import type { ProfileField } from '../../contract/schemas.js'
import type { Clock } from '../../lib/clock.js'
import { uuidv7 } from '../../lib/uuid.js'
import { type Database, isUniqueViolation, type Sql, type Transaction } from '../../platform/database/database.js'
import { createOptionalTransaction } from '../../platform/database/optional-transaction.js'
import { canSignIn } from '../sign-in/ways-to-sign-in.js'
import { type Email, emailKey } from './email.js'
import { type Profile, profileFrom } from './profile-fields.js'
import { type Username, usernameFrom, usernameKey, withSuffix } from './username.js'
import type { Usernames } from './usernames.js'
import * as store from './users.store.js'

/** Of its profile, `language` is that of the mails about the account; undefined until the next sign-in sets it. */
export type User = Profile & {
  id: string
  email: string
  username: string
  provider: ProviderId | null
  providers: ProviderId[]
  passwordHash: string | undefined
  createdAt: Date
  disabled: boolean
  /** How often the account was taken back by an undo link. */
  undoCount: number
}

export type NewUser = {
  email: Email
  username: Username
  name: string | null
  passwordHash: string
  language?: Language | undefined
}
export type { Identity } from './users.store.js'

/** Whether an account may be created, decided in the transaction that inserts it. */
type Admission<Refusal extends string> = (
  sql: Sql,
  insert: () => Promise<User | undefined>,
) => Promise<User | undefined | Refused<Refusal>>
/** A new user from a provider. The username is the one at the provider. */
type ProviderUser = {
  email: Email
  username: string
  name: string | null
  identity: store.Identity
  language?: Language | undefined
}

const fromRow = (row: store.UserRow): User => ({
  id: row.id,
  email: row.email,
  username: row.username,
  ...profileFrom(row),
  provider: isProviderId(row.provider) ? row.provider : null,
  providers: row.providers.filter(isProviderId),
  passwordHash: row.password_hash ?? undefined,
  createdAt: row.created_at,
  disabled: row.disabled_at !== null,
  undoCount: row.undo_count,
})

const first = async (rows: Promise<store.UserRow[]>) => {
  const [row] = await rows
  return row && fromRow(row)
}

const unlessTaken = (error: unknown) => {
  if (isUniqueViolation(error)) return undefined
  throw error
}

/** An email if it has an `@`, which no username has. */
const isEmail = (login: string) => login.includes('@')

/** Names in the sign-in form with one key are the same name. */
export const loginKey = (login: string) => (isEmail(login) ? emailKey(login) : usernameKey(login))

/** The user who had this address until a short time ago: no other user gets it yet. */
const ownerOfReserved = async (sql: Sql, email: string, clockOffset: number) => {
  const [row] = await store.selectReservation(sql, emailKey(email), clockOffset)
  return row?.user_id
}

const held = {
  /** The user is not deleted before the transaction ends: for a mail that says whose address it is. */
  holdByEmail: (sql: Transaction, email: string) => first(store.holdByEmail(sql, emailKey(email))),
  /** For a transaction that holds rows of this address: a deletion of one of these users takes them in the same order. */
  lockUsersOfAddress: async (sql: Transaction, email: string) => {
    await store.lockUsersOfAddress(sql, emailKey(email))
  },
  /** The user as it is now, locked until the transaction ends. The statement that waits for the lock still sees providers from before. */
  lock: async (sql: Transaction, id: string) => {
    await store.lockById(sql, id)
    return first(store.selectById(sql, id))
  },
  /** The same, and undefined too if an operator has disabled the user. */
  lockEnabled: async (sql: Transaction, id: string) => {
    await store.lockById(sql, id)
    const user = await first(store.selectById(sql, id))
    return user?.disabled ? undefined : user
  },
  /** Whether the user, who is locked then, has this identity. A statement that waits for a lock still sees those from before. */
  lockLinked: async (sql: Transaction, id: string, identity: store.Identity) => {
    await store.lockById(sql, id)
    return (await store.selectIdentity(sql, id, identity)).length > 0
  },
}

/** What a change of the email and an undo do to a user, whose row the caller holds. */
const createChanges = ({ database, clock }: { database: Database; clock: Clock }) => ({
  /** False if it is reserved for another user. One that another user has is a unique violation. */
  setEmail: async (sql: Sql, userId: string, email: Email) => {
    await store.releaseEmail(sql, email.key, clock.offset())
    return (await store.updateEmail(sql, userId, email, clock.now())).length > 0
  },
  /** The addresses that the account had in the last time, the oldest first. */
  emailHistoryOf: createOptionalTransaction(database)((sql, userId: string) => store.selectFormerEmails(sql, userId)),
  /** For an account that is taken back: no sign-in that began before gets a session, and without a hash no password works. */
  takeBack: (sql: Sql, userId: string, passwordHash: string | undefined) =>
    store.takeBack(sql, userId, passwordHash ?? null),
})

type Dependencies = {
  database: Database
  clock: Clock
  usernames: Pick<Usernames, 'reservedAlike' | 'isTaken' | 'release'>
}

/** How accounts come into being. */
const createNewUsers = ({ database, clock, usernames }: Dependencies) => {
  /** Which unique value is taken; undefined if it is free again. */
  const obstacle = async (sql: Sql, user: { email: Email; username: Username }) => {
    if (await first(store.selectByEmail(sql, user.email.key))) return refuse('email_taken')
    if ((await ownerOfReserved(sql, user.email.email, clock.offset())) !== undefined) return refuse('email_taken')
    return (await usernames.isTaken(sql, user.username.key)) ? refuse('username_taken') : undefined
  }

  /** A name that gets reserved for its former owner at this moment is a unique violation. */
  const createWithPassword = async (sql: Sql, user: NewUser) => {
    const taken = await obstacle(sql, user)
    if (taken) return taken
    const now = clock.now()
    await usernames.release(sql, [user.username.key])
    await store.releaseEmail(sql, user.email.key, clock.offset())
    const insert = () => first(store.insertWithPassword(sql, { ...user, id: uuidv7(now), now }))
    const created = (await insert()) ?? (await obstacle(sql, user)) ?? (await insert())
    // Its reservation is over, and is being deleted at this moment.
    return created ?? refuse('email_taken')
  }

  /**
   * Creates an account for a provider's user, with the given username or the first free one with a number. `admit` decides in
   * the same transaction whether the account may be created.
   */
  const createFromProvider = async <Refusal extends string = never>(
    user: ProviderUser,
    admit: Admission<Refusal> = (_sql, insert) => insert(),
  ): Promise<User | Refused<'provider_taken' | 'email_taken' | Refusal>> => {
    const wanted = usernameFrom(user.username)
    for (let tries = 0; tries < 20; tries++) {
      const now = clock.now()
      const id = uuidv7(now)
      const [free] = await store.selectFreeSuffix(database, wanted.key, usernames.reservedAlike(wanted.key), now)
      const username = withSuffix(wanted, free?.suffix ?? id.slice(-6))
      await usernames.release(database, [username.key])
      await store.releaseEmail(database, user.email.key, clock.offset())
      const inserting = database.transaction((sql) =>
        admit(sql, () =>
          first(store.insertFromProvider(sql, { ...user, username, id, now, clockOffset: clock.offset() })),
        ),
      )
      const created = await inserting.catch(unlessTaken)
      if (created && !isRefused(created)) return created
      if (await first(store.selectByIdentity(database, user.identity))) return refuse('provider_taken')
      if (await first(store.selectByEmail(database, user.email.key))) return refuse('email_taken')
      if (created) return created
      if ((await ownerOfReserved(database, user.email.email, clock.offset())) !== undefined)
        return refuse('email_taken')
    }
    throw new Error('No free username was found')
  }

  return { createWithPassword, createFromProvider }
}

/** The identities at providers that sign a user in, and those that an undo has taken away. */
const createIdentityLinks = ({ database, clock }: Dependencies) => ({
  /** False when the user has an identity at this provider, or the identity a user. */
  linkProvider: async (sql: Sql, userId: string, identity: store.Identity) =>
    (await store.insertIdentity(sql, userId, identity, clock.offset())).length > 0,
  /** The caller holds a lock on the user's row, so that of two removals at once the second sees what the first has left. */
  unlinkProvider: async (
    sql: Transaction,
    { id, providers, passwordHash }: User,
    provider: ProviderId,
    others: { hasPasskey: boolean; isConfigured: (provider: ProviderId) => boolean },
  ) => {
    if (!providers.includes(provider)) return refuse('not_linked')
    const { hasPasskey, isConfigured } = others
    const hasProvider = providers.some((each) => each !== provider && isConfigured(each))
    if (!canSignIn({ hasPassword: passwordHash !== undefined, hasProvider, hasPasskey })) return refuse('last_way_in')
    await store.deleteIdentity(sql, id, provider)
    return undefined
  },
  identitiesOf: createOptionalTransaction(database)(async (sql, userId: string) =>
    (await store.selectIdentities(sql, userId)).flatMap(({ provider, subject, linked_at: linkedAt }) =>
      isProviderId(provider) ? [{ provider, subject, linkedAt }] : [],
    ),
  ),
  /**
   * An address does not link them again: only a session of the user does. Also if they were unlinked in the meantime. One may be
   * the last way in: the caller gives the user another one.
   */
  undoLinks: (sql: Sql, userId: string, identities: readonly store.Identity[]) =>
    store.undoIdentities(sql, userId, identities, clock.now()),
  isUndone: async (sql: Sql, userId: string, identity: store.Identity) =>
    (await store.selectUndone(sql, userId, identity)).length > 0,
  forgetUndone: (sql: Sql, userId: string, identity: store.Identity) => store.forgetUndone(sql, userId, identity),
  undoneIdentitiesOf: (userId: string) => store.selectAllUndone(database, userId),
})

export type Users = ReturnType<typeof createUsers>

export const createUsers = (deps: Dependencies) => {
  const { database, clock } = deps
  const optionalTransaction = createOptionalTransaction(database)
  const findById = optionalTransaction((sql, id: string) => first(store.selectById(sql, id)))
  const findByEmail = optionalTransaction((sql, email: string) => first(store.selectByEmail(sql, emailKey(email))))
  const findByUsername = (username: string) => first(store.selectByUsername(database, usernameKey(username)))
  const findByIdentity = (identity: store.Identity) => first(store.selectByIdentity(database, identity))

  /** By the name in the sign-in form. */
  const findByLogin = (login: string) => (isEmail(login) ? findByEmail(login) : findByUsername(login))

  return {
    findById,
    /** Undefined, too, if an operator has disabled the user. */
    findEnabled: optionalTransaction(async (sql, id: string) => {
      const user = await findById(sql, id)
      return user?.disabled ? undefined : user
    }),
    ...held,
    /** The same before the user is deleted: it also waits for rows that refer to the user and are not committed yet. */
    lockForDeletion: async (sql: Transaction, id: string) => {
      await store.waitForOtherDeletions(sql)
      return first(store.lockForDeletion(sql, id))
    },
    findByEmail,
    reservedFor: optionalTransaction((sql, email: string) => ownerOfReserved(sql, email, clock.offset())),
    findByLogin,
    findByIdentity,
    ...createNewUsers(deps),
    ...createIdentityLinks(deps),
    setPassword: (sql: Sql, userId: string, passwordHash: string) => store.updatePassword(sql, userId, passwordHash),
    ...createChanges({ database, clock }),
    /** No password signs the user in until a reset sets a new one. The caller also ends the user's sessions. */
    expirePassword: (sql: Sql, userId: string) => store.updatePassword(sql, userId, null),
    replaceHash: async (userId: string, oldHash: string, newHash: string) =>
      (await store.replaceHash(database, userId, oldHash, newHash)).length > 0,
    /** Whether it is the first time that this user signs in. An account that has no language yet gets this one. */
    noteSignIn: async (sql: Sql, userId: string, language: Language | undefined) => {
      const [noted] = await store.noteSignIn(sql, userId, clock.now(), language ?? null)
      return noted?.is_first ?? false
    },
    setField: <Name extends ProfileField>(
      sql: Sql,
      userId: string,
      field: Name,
      value: NonNullable<Profile[Name]> | null,
    ) => store.updateProfileField(sql, userId, field, value),
    /** Everything of the user goes with it. */
    remove: async (sql: Sql, userId: string) => (await store.deleteUser(sql, userId)).length > 0,
    disable: (sql: Transaction, userId: string) => store.updateDisabled(sql, userId, clock.now()),
    enable: (sql: Transaction, userId: string) => store.updateDisabled(sql, userId, null),
  }
}
