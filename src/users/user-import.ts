import { fingerprint } from '../lib/random.js'
import { type Database, isUniqueViolation } from '../platform/database/database.js'
import type { ImportedUser } from './imported-user.js'
import type { Usernames } from './usernames.js'
import * as store from './users-bulk.store.js'

export type Batch = {
  added: ImportedUser[]
  /** How many users have an email that already has an account. They are skipped, so that an interrupted import can be run again. */
  existed: number
  refused: { user: ImportedUser; reason: string }[]
}

const noKeys: ReadonlySet<string> = new Set()
/** Between the check and the insert, another process may take a value. Then the remaining users are checked again. */
const maxTries = 5

const usernameTaken = 'the username belongs to a user with another email'
const emailReserved = 'the email is kept for the user who had it until a few days ago'
const idTaken = 'the id or a provider id belongs to a user with another email'

/** The values that only one user may have, each as a text. */
const keysOf = ({ id, email, username, identities }: ImportedUser) => ({
  email: `email ${email.key}`,
  username: `username ${username.key}`,
  otherKeys: [`id ${id}`, ...identities.map(({ provider, subject }) => `${provider} ${subject}`)],
})

type Dependencies = { database: Database; usernames: Pick<Usernames, 'release'> }

/** Decides which of these users can be added, in the order of the file. `addedKeys`: the keys of users whom a dry run counts as added. */
const createDecide = ({ database, usernames }: Dependencies) => {
  const takenFor = async (users: readonly ImportedUser[]) => {
    const identities = users.flatMap((user) => user.identities)
    const names = users.map(({ username }) => username.key)
    await usernames.release(database, names)
    await store.releaseEmails(database, users)
    const rows = await store.selectTaken(database, users)
    const reservedEmails = await store.selectReservedEmails(database, users)
    const takenIdentities = identities.length > 0 ? await store.selectTakenIdentities(database, identities) : []
    const reservedNames = await store.selectReserved(database, names)
    return new Set([
      ...reservedNames.map((row) => `username ${row.username_key}`),
      ...rows.flatMap((row) => [`email ${row.email_key}`, `username ${row.username_key}`, `id ${row.id}`]),
      ...reservedEmails.map((row) => `reserved ${row.email_key}`),
      ...takenIdentities.map(({ provider, subject }) => `${provider} ${subject}`),
    ])
  }

  return async (users: readonly ImportedUser[], addedKeys: { has(key: string): boolean }): Promise<Batch> => {
    const taken = await takenFor(users)
    const isTaken = (key: string) => taken.has(key) || addedKeys.has(key)
    const batch: Batch = { added: [], existed: 0, refused: [] }
    for (const user of users) {
      const { email, username, otherKeys } = keysOf(user)
      if (isTaken(email)) batch.existed += 1
      else if (isTaken(`reserved ${user.email.key}`)) batch.refused.push({ user, reason: emailReserved })
      else if (isTaken(username)) batch.refused.push({ user, reason: usernameTaken })
      else if (otherKeys.some(isTaken)) batch.refused.push({ user, reason: idTaken })
      else {
        batch.added.push(user)
        for (const key of [email, username, ...otherKeys]) taken.add(key)
      }
    }
    return batch
  }
}

/** Adds many users, whose values must differ from each other and from those of existing users. */
export const createUserImport = (deps: Dependencies) => {
  const { database } = deps
  const decide = createDecide(deps)

  /** The emails of the users that were inserted: all, fewer if a value was taken meanwhile, or none. */
  const insert = async (users: readonly ImportedUser[]) => {
    if (users.length === 0) return new Set<string>()
    try {
      const rows = await store.insertMany(database, users)
      return new Set(rows.map((row) => row.email_key))
    } catch (error) {
      if (isUniqueViolation(error)) return new Set<string>()
      throw error
    }
  }

  const add = async (users: readonly ImportedUser[]): Promise<Batch> => {
    const added: ImportedUser[] = []
    for (let tries = 0; tries < maxTries; tries += 1) {
      const remaining = users.filter((user) => !added.includes(user))
      const batch = await decide(remaining, noKeys)
      const insertedEmails = await insert(batch.added)
      const missing = batch.added.filter((user) => !insertedEmails.has(user.email.key))
      added.push(...batch.added.filter((user) => insertedEmails.has(user.email.key)))
      if (missing.length === 0) return { ...batch, added }
    }
    throw new Error('Other processes took values of imported users again and again')
  }

  /**
   * For a dry run: decides as `add` does, and remembers the users instead of inserting them. Only a digest of each value is kept, so that a
   * file of a million users fits into memory.
   */
  const createTrial = () => {
    const digests = new Set<string>()
    const digest = (key: string) => fingerprint(key).toString('latin1', 0, 16)
    return async (users: readonly ImportedUser[]): Promise<Batch> => {
      const batch = await decide(users, { has: (key) => digests.has(digest(key)) })
      for (const { email, username, otherKeys } of batch.added.map(keysOf))
        for (const key of [email, username, ...otherKeys]) digests.add(digest(key))
      return batch
    }
  }

  return { add, createTrial }
}
