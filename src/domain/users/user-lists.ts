import { nilUuid } from '../../lib/uuid.js'
import type { Database } from '../../platform/database/database.js'
import { emailKey } from './email.js'
import { usernameKey } from './username.js'
import * as store from './users-bulk.store.js'

const exportPage = 1_000

/** Lists of many users, for the command line. */
export const createUserLists = ({ database }: { database: Database }) => {
  const page = (after: string | undefined, limit: number, filter: store.Filter = {}) =>
    store.selectPage(database, after ?? nilUuid, limit, filter)

  /** How many users have an authenticator app or a passkey. */
  const withSecondFactor = async () => (await store.countWithSecondFactor(database))[0]?.users ?? 0

  /** Every user in the order of ids, with one page in memory at a time. */
  async function* everyone() {
    let after: string | undefined
    for (;;) {
      const users = await page(after, exportPage)
      if (users.length === 0) return
      yield users
      after = users.at(-1)?.id
    }
  }

  const search = (text: string, limit: number) =>
    store.selectMatching(database, { username: usernameKey(text), email: emailKey(text), name: text }, limit)

  const providers = async () => (await store.selectProviders(database)).map(({ provider }) => provider)

  return { page, search, everyone, providers, withSecondFactor }
}
