import type { Clock } from '../../lib/clock.js'
import type { Database } from '../../platform/database/database.js'
import { emailKey } from '../users/email.js'
import { usernameKey } from '../users/username.js'
import * as store from './registrations.store.js'

/** For an operator: whether a registration waits under an email or a name. */
export const createWaitingRegistrations = ({ database, clock }: { database: Database; clock: Clock }) => ({
  has: async (login: string) => {
    const now = clock.now()
    const rows = login.includes('@')
      ? await store.selectNewestByEmail(database, emailKey(login), now)
      : await store.selectNewestByUsername(database, usernameKey(login), now)
    return rows.length > 0
  },
})
