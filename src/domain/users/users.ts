import type { Clock } from '../../lib/clock.js'
import { uuidv7 } from '../../lib/uuid.js'
import type { Database, Sql } from '../../platform/database/database.js'
import { type Email, emailKey } from './email.js'
import { type Username, usernameFrom, usernameKey, withSuffix } from './username.js'
import * as store from './users.store.js'

export const providerIds = ['provider_a', 'provider_b'] as const
export type ProviderId = (typeof providerIds)[number]

export type User = {
  id: string
  email: string
  username: string
  name: string | null
  provider: ProviderId | null
  providers: ProviderId[]
  passwordHash: string | undefined
  createdAt: Date
  disabled: boolean
}

export type NewUser = { email: Email; username: Username; name: string | null; passwordHash: string }
export type ProviderUser = {
  email: Email
  username: string
  name: string | null
  provider: ProviderId
  providerId: string
}

const fromRow = (row: store.UserRow): User => ({
  id: row.id,
  email: row.email,
  username: row.username,
  name: row.name,
  provider: row.provider,
  providers: providerIds.filter((provider) => row[`${provider}_id`] !== null),
  passwordHash: row.password_hash ?? undefined,
  createdAt: row.created_at,
  disabled: row.disabled_at !== null,
})

const first = async (rows: Promise<store.UserRow[]>) => {
  const [row] = await rows
  return row && fromRow(row)
}

export type Users = ReturnType<typeof createUsers>

export const createUsers = ({ database, clock }: { database: Database; clock: Clock }) => {
  const findById = (id: string, sql: Sql = database) => first(store.selectById(sql, id))
  const findByEmail = (email: string, sql: Sql = database) => first(store.selectByEmail(sql, emailKey(email)))
  const findByUsername = (username: string, sql: Sql = database) =>
    first(store.selectByUsername(sql, usernameKey(username)))
  const findByProvider = (provider: ProviderId, providerId: string, sql: Sql = database) =>
    first(store.selectByProvider(sql, provider, providerId))

  /** What a person types into the sign-in form: an email when it holds an `@`, which no username does. */
  const findByLogin = (login: string) => (login.includes('@') ? findByEmail(login) : findByUsername(login))

  /** Which unique value stood in the way of an insert; nothing when the obstacle has gone again meanwhile. */
  const obstacle = async (sql: Sql, user: { email: Email; username: Username }) => {
    if (await findByEmail(user.email.key, sql)) return { refused: 'email_taken' as const }
    if (await findByUsername(user.username.key, sql)) return { refused: 'username_taken' as const }
    return undefined
  }

  const createWithPassword = async (sql: Sql, user: NewUser) => {
    const now = clock.now()
    const insert = () => first(store.insertWithPassword(sql, { ...user, ...user.email, id: uuidv7(now), now }))
    const created = (await insert()) ?? (await obstacle(sql, user)) ?? (await insert())
    if (!created) throw new Error('A user could neither be created nor be found to exist')
    return created
  }

  /** Creates an account on a provider's word, under the smallest free form of the name it gave. */
  const createFromProvider = async (user: ProviderUser) => {
    const wanted = usernameFrom(user.username)
    for (let tries = 0; tries < 20; tries++) {
      const now = clock.now()
      const id = uuidv7(now)
      const [free] = await store.selectFreeSuffix(database, wanted.key)
      const username = withSuffix(wanted, free?.suffix ?? id.slice(-6))
      const created = await first(store.insertFromProvider(database, { ...user, ...user.email, username, id, now }))
      if (created) return created
      if (await findByProvider(user.provider, user.providerId)) return { refused: 'provider_taken' as const }
      if (await findByEmail(user.email.key)) return { refused: 'email_taken' as const }
    }
    throw new Error('No free username was found')
  }

  const unlinkProvider = async (userId: string, provider: ProviderId) => {
    const [unlinked] = await store.clearProvider(database, userId, provider)
    if (unlinked) return true
    const user = await findById(userId)
    return { refused: user?.providers.includes(provider) ? ('last_way_in' as const) : ('not_linked' as const) }
  }

  return {
    findById,
    /** The user as they are now, with the row held until the transaction ends: what is decided on it stays true. */
    lock: (sql: Sql, id: string) => first(store.lockById(sql, id)),
    findByEmail,
    findByUsername,
    findByLogin,
    findByProvider,
    createWithPassword,
    createFromProvider,
    /** False when the account has an identity there, or the identity an account; of two at once, one gets the violation. */
    linkProvider: async (sql: Sql, userId: string, provider: ProviderId, providerId: string) =>
      (await store.updateProvider(sql, userId, provider, providerId)).length > 0,
    unlinkProvider,
    setPassword: (sql: Sql, userId: string, passwordHash: string) => store.updatePassword(sql, userId, passwordHash),
    replacePassword: async (userId: string, oldHash: string, newHash: string, sql: Sql = database) =>
      (await store.replacePassword(sql, userId, oldHash, newHash)).length > 0,
    disable: (userId: string, sql: Sql = database) => store.updateDisabled(sql, userId, clock.now()),
    enable: (userId: string, sql: Sql = database) => store.updateDisabled(sql, userId, null),
  }
}
