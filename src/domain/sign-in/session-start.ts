import type { Transaction } from '../../platform/database/database.js'
import type { AccountChanges, Changes } from '../accounts/account-changes.js'
import type { Events } from '../events/events.js'
import type { Identities } from '../providers/identities.js'
import type { FirstProof } from '../sessions/sessions.js'
import type { Identity, User } from '../users/users.js'
import type { Visit } from './sign-ins.js'
import { createStart, type Started } from './start.js'
import { eventOf, type SignedInBy } from './ways-to-sign-in.js'

type Dependencies = Parameters<typeof createStart>[0] & {
  accountChanges: Pick<AccountChanges, 'bySignIn'>
  events: Pick<Events, 'record'>
  identities: Pick<Identities, 'linkByAddress'>
}

export type SessionStart = ReturnType<typeof createSessionStart>

/** How sessions begin inside a transaction, and what is recorded of each that began. */
export const createSessionStart = (deps: Dependencies) => {
  const { accountChanges, events, identities, sessions } = deps
  const startSession = createStart(deps)

  /** With what a link has done to the account: its event names the session. */
  const start = async (
    sql: Transaction,
    user: User,
    proof: FirstProof,
    visit: Visit,
    linked?: Changes<'provider_linked'>,
  ) => {
    const issued = await startSession(sql, user, proof, visit)
    const caller = issued && { userId: user.id, sessionId: issued.sessionId, generation: 0 }
    if (linked) await accountChanges.bySignIn(sql, { user, client: visit.client, caller }, linked)
    return issued
  }

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
      const linked = link && (await identities.linkByAddress(sql, user, link))
      return link && !linked ? undefined : start(sql, user, proof, visit, linked)
    },
    /** After the commit. `created`: the provider with which the sign-in has created the account. */
    began: async (issued: Started, by: SignedInBy, visit: Visit, created?: Identity['provider']) => {
      const about = { userId: issued.user.id, sessionId: issued.sessionId }
      if (created) await events.record({ kind: 'registered', provider: created, ...about }, visit.client)
      await endEarlier(visit)
      await events.record({ ...eventOf(by), ...about }, visit.client)
      return issued
    },
  }
}
