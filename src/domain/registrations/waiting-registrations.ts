import type { Clock } from '../../lib/clock.js'
import type { Database } from '../../platform/database/database.js'
import { emailKey } from '../users/email.js'
import { usernameKey } from '../users/username.js'
import * as store from './registrations.store.js'

type Dependencies = { database: Database; clock: Clock }

/** The newest waiting registration with this email or name, as typed into the sign-in form. */
export const findWaiting = async ({ database, clock }: Dependencies, login: string) => {
  const [row] = login.includes('@')
    ? await store.selectNewestByEmail(database, emailKey(login), clock.now())
    : await store.selectNewestByUsername(database, usernameKey(login), clock.now())
  return row
}

/** What is stored of registrations, for those who begin and confirm none. */
export const createWaitingRegistrations = (deps: Dependencies) => ({
  has: async (login: string) => (await findWaiting(deps, login)) !== undefined,
  /** All that is stored under these addresses, also confirmed registrations. */
  ofEmails: (emails: readonly string[]) => store.selectOfEmails(deps.database, emails.map(emailKey), deps.clock.now()),
})
