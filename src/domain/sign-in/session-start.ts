import type { Transaction } from '../../platform/database/database.js'
import type { Events } from '../events/events.js'
import type { Identities } from '../providers/identities.js'
import type { FirstProof } from '../sessions/sessions.js'
import type { Identity, User } from '../users/users.js'
import type { Visit } from './sign-ins.js'
import { createStart, type Started } from './start.js'
import { eventOf, type SignedInBy } from './ways-to-sign-in.js'

type Dependencies = Parameters<typeof createStart>[0] & {
  events: Pick<Events, 'record'>
  identities: Pick<Identities, 'linkByAddress'>
}

/** What a sign-in with a provider did to the account before the session began. */
export type DoneByProvider = 'registered' | 'provider_linked'

export type SessionStart = ReturnType<typeof createSessionStart>

/** How sessions begin inside a transaction, and what is recorded of each that began. */
export const createSessionStart = (deps: Dependencies) => {
  const { events, identities, sessions } = deps
  const start = createStart(deps)

  /**
   * No copy of the tokens that this browser had before works any more. After the commit: the earlier session may be one of another
   * user, whose deletion takes the rows in the opposite order.
   */
  const endEarlier = async ({ earlierSession: earlier, client }: Visit) => {
    if (earlier && (await sessions.end(earlier.sessionId, earlier.userId)))
      await events.record({ kind: 'signed_out', ...earlier, reason: 'signed_in_again' }, client)
  }

  return {
    start,
    /** A link that waited is written together with the session: the user's row is locked, and both are there or none. */
    begin: async (sql: Transaction, user: User, proof: FirstProof, link: Identity | undefined, visit: Visit) => {
      const isLinked = !link || (await identities.linkByAddress(sql, user, link, visit.client))
      return isLinked ? start(sql, user, proof, visit) : undefined
    },
    /** After the commit. The event of the session is the newest, with what it did to the account before it. */
    began: async (
      issued: Started,
      by: SignedInBy,
      visit: Visit,
      before?: { kind: DoneByProvider; provider: Identity['provider'] },
    ) => {
      const about = { userId: issued.user.id, sessionId: issued.sessionId }
      if (before) await events.record({ ...before, ...about }, visit.client)
      await endEarlier(visit)
      await events.record({ ...eventOf(by), ...about }, visit.client)
      return issued
    },
  }
}
