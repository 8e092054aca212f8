import type { FieldValues } from '../contract/profile-fields.js'
import { nilUuid } from '../lib/uuid.js'
import type { Database } from '../platform/database/database.js'
import type { StoredBuiltInFields } from './built-in-fields.js'
import { emailKey } from './email.js'
import { usernameKey } from './username.js'
import * as store from './users-bulk.store.js'

/** A user with everything that an export writes, including identities at providers that are no longer configured. */
export type ListedUser = StoredBuiltInFields & {
  id: string
  email: string
  username: string
  passwordHash: string | undefined
  /** The provider that created the account. */
  provider: string | null
  /** The user's subject at each provider. */
  identities: Readonly<Record<string, string>>
  groups: readonly string[]
  /** The values of profile fields, including fields that PROFILE_FIELDS_FILE no longer has. */
  fields: FieldValues
  createdAt: Date
  disabled: boolean
}

const fromRow = ({ password_hash, created_at, ...row }: store.ListedRow): ListedUser => ({
  ...row,
  passwordHash: password_hash ?? undefined,
  createdAt: created_at,
})

const exportPage = 1_000

/** Lists of many users, for the command line. */
export const createUserLists = ({ database }: { database: Database }) => {
  const page = async (after: string | undefined, limit: number, filter: store.Filter = {}) =>
    (await store.selectPage(database, after ?? nilUuid, limit, filter)).map(fromRow)

  /** How many users have an authenticator app or a passkey. */
  const countWithSecondFactor = async () => (await store.countWithSecondFactor(database))[0]?.users ?? 0

  /** Yields all users in pages, in the order of ids. */
  async function* allPages() {
    let after: string | undefined
    for (;;) {
      const users = await page(after, exportPage)
      if (users.length === 0) return
      yield users
      after = users.at(-1)?.id
    }
  }

  const search = async (text: string, limit: number) => {
    const part = { username: usernameKey(text), email: emailKey(text), name: text }
    return (await store.selectMatching(database, part, limit)).map(fromRow)
  }

  const providers = async () => (await store.selectProviders(database)).map(({ provider }) => provider)

  return { page, search, allPages, providers, countWithSecondFactor }
}
