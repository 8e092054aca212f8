import type { ProviderId } from '../../contract/providers.js'
import type { Transaction } from '../../platform/database/database.js'
import type { Event, Events } from '../events/events.js'
import type { Identities } from '../providers/identities.js'
import type { FirstProof } from '../sessions/sessions.js'
import type { Identity, User } from '../users/users.js'
import type { Challenge } from './challenges.js'
import type { Visit } from './sign-ins.js'
import { createStart, type Started } from './start.js'

type Dependencies = Parameters<typeof createStart>[0] & {
  events: Pick<Events, 'record'>
  identities: Pick<Identities, 'linkByAddress'>
}
type ByProvider = { provider: ProviderId; first: 'registered' | 'provider_linked' | undefined }

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

  const began = async (
    issued: Started,
    visit: Visit,
    event: Pick<Event, 'kind' | 'provider' | 'reason' | 'sessionBegan'>,
  ) => {
    await endEarlier(visit)
    await events.record({ ...event, userId: issued.user.id, sessionId: issued.sessionId }, visit.client)
    return issued
  }

  /** A link that waited is written together with the session: the user's row is locked, and both are there or none. */
  const beginWithLink = (sql: Transaction, user: User, proof: FirstProof, link: Identity, visit: Visit) =>
    identities
      .linkByAddress(sql, user, link, visit.client)
      .then((linked) => (linked ? start(sql, user, proof, visit) : undefined))

  const beganByProvider = async (issued: Started, { provider, first }: ByProvider, visit: Visit) => {
    const { sessionId, user } = issued
    if (first) await events.record({ kind: first, userId: user.id, sessionId, provider }, visit.client)
    return began(issued, visit, { kind: 'signed_in', provider, sessionBegan: provider })
  }

  return {
    start,
    began,
    beginWithLink,
    begin: (sql: Transaction, user: User, proof: FirstProof, link: Identity | undefined, visit: Visit) =>
      link ? beginWithLink(sql, user, proof, link, visit) : start(sql, user, proof, visit),
    beganByProvider,
    beganByChallenge: (issued: Started, { provider, link }: Challenge, visit: Visit) =>
      provider
        ? beganByProvider(issued, { provider, first: link && 'provider_linked' }, visit)
        : began(issued, visit, { kind: 'signed_in', reason: 'password', sessionBegan: 'password' }),
  }
}
