import { nilUuid } from '../../lib/uuid.js'
import { type Database, isUniqueViolation } from '../../platform/database/database.js'
import type { ImportedUser } from './imported-user.js'
import * as store from './users-bulk.store.js'

export type { ListedUser } from './users-bulk.store.js'

export type Batch = {
  added: number
  /** Users whose email already has an account, so that an interrupted import can be run again. */
  existed: number
  refused: { user: ImportedUser; reason: string }[]
}

const exportPage = 1_000

export type BulkUsers = ReturnType<typeof createBulkUsers>

/** Many users at once, for the command line. No request uses this. */
export const createBulkUsers = ({ database }: { database: Database }) => {
  const takenBy = async (users: readonly ImportedUser[]) => {
    const rows = await store.selectTaken(database, {
      emails: users.map((user) => user.email.key),
      usernames: users.map((user) => user.username.key),
    })
    return {
      emails: new Set(rows.map((row) => row.email_key)),
      usernames: new Set(rows.map((row) => row.username_key)),
    }
  }

  const sortOut = (
    users: readonly ImportedUser[],
    taken: Awaited<ReturnType<typeof takenBy>>,
    added: number,
  ): Batch => {
    const others = users.filter((user) => !taken.emails.has(user.email.key))
    const refused = others.map((user) => ({
      user,
      reason: taken.usernames.has(user.username.key)
        ? 'the username belongs to a user with another email'
        : 'the id or a provider id belongs to a user with another email',
    }))
    return { added, existed: users.length - others.length, refused }
  }

  const insertHalves = async (users: readonly ImportedUser[]): Promise<{ email_key: string }[]> => {
    const middle = Math.ceil(users.length / 2)
    return [...(await insert(users.slice(0, middle))), ...(await insert(users.slice(middle)))]
  }

  /**
   * The users that were written. If a batch has an id twice, or an identity that is taken, it is split in halves until the
   * user in question is alone and is skipped; the others are written.
   */
  const insert = async (users: readonly ImportedUser[]): Promise<{ email_key: string }[]> => {
    if (new Set(users.map(({ id }) => id)).size < users.length) return insertHalves(users)
    try {
      return await store.insertMany(database, users)
    } catch (error) {
      if (!isUniqueViolation(error)) throw error
      return users.length === 1 ? [] : insertHalves(users)
    }
  }

  const add = async (users: readonly ImportedUser[]): Promise<Batch> => {
    const inserted = await insert(users)
    if (inserted.length === users.length) return { added: users.length, existed: 0, refused: [] }
    // A batch may have one email twice: only the first of these rows was written.
    const added = new Set(inserted.map((row) => row.email_key))
    const left = users.filter((user) => !added.delete(user.email.key))
    return sortOut(left, await takenBy(left), inserted.length)
  }

  /** The result that `add` would have, without writing. Rows of different batches are not compared with each other. */
  const tryOut = async (users: readonly ImportedUser[]): Promise<Batch> => {
    const taken = await takenBy(users)
    const left = users.filter((user) => {
      if (taken.emails.has(user.email.key) || taken.usernames.has(user.username.key)) return true
      taken.emails.add(user.email.key)
      taken.usernames.add(user.username.key)
      return false
    })
    return sortOut(left, taken, users.length - left.length)
  }

  const page = (after: string | undefined, limit: number) => store.selectPage(database, after ?? nilUuid, limit)

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

  return { add, tryOut, page, everyone }
}
