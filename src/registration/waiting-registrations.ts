import type { Clock } from '../lib/clock.js'
import { fingerprint } from '../lib/random.js'

import type { Database } from '../platform/database/database.js'
import { emailKey, usernameKey } from '../users/names.js'

import * as store from './registrations.store.js'

type Dependencies = { database: Database; clock: Clock }

/** The waiting registration that this browser began with this email or name, as typed into the sign-in form. */
export const findOwnRow = async ({ database, clock }: Dependencies, login: string, browserToken: string) => {
  const browserHash = fingerprint(browserToken)
  const [row] = login.includes('@')
    ? await store.selectOwnByEmail(database, emailKey(login), browserHash, clock.now())
    : await store.selectOwnByUsername(database, usernameKey(login), browserHash, clock.now())
  return row
}

/** A registration without username and name, because anyone may have typed them. */
type StoredRegistration = { email: string; confirmedAt: Date | null; expiresAt: Date }

/** Stored registrations, for parts that neither begin nor confirm them. */
export const createWaitingRegistrations = ({ database, clock }: Dependencies) => ({
  /** Whether a registration waits under an email or a name. */
  has: async (login: string) => {
    const rows = login.includes('@')
      ? await store.selectNewestByEmail(database, emailKey(login), clock.now())
      : await store.selectNewestByUsername(database, usernameKey(login), clock.now())
    return rows.length > 0
  },
  /** All registrations with these addresses, even confirmed ones. */
  findByEmails: async (emails: readonly string[]): Promise<StoredRegistration[]> => {
    const rows = await store.selectOfEmails(database, emails.map(emailKey), clock.now())
    return rows.map((row) => ({ email: row.email, confirmedAt: row.confirmed_at, expiresAt: row.expires_at }))
  },
})
