import type { Transaction } from '../../platform/database/database.js'
import type { AccountChanges, Changes } from '../accounts/account-changes.js'
import type { Events } from '../events/events.js'
import type { KnownDevices } from '../known-devices/known-devices.js'
import type { Identities } from '../providers/identities.js'
import type { FirstProof, Issued, Sessions } from '../sessions/sessions.js'
import type { UserChanges } from '../users/user-changes.js'
import type { Identity, User } from '../users/users.js'
import type { Visit } from './sign-ins.js'
import { eventOf, type SignedInBy } from './ways-to-sign-in.js'

type Dependencies = {
  sessions: Sessions
  userChanges: Pick<UserChanges, 'noteSignIn'>
  accountChanges: Pick<AccountChanges, 'bySignIn'>
  knownDevices: KnownDevices
  events: Pick<Events, 'record'>
  identities: Pick<Identities, 'linkByAddress'>
}

/** With what makes its browser known from now on; undefined if the browser's cookie was not seen. */
export type NewSession = Issued & { knownDevices: readonly string[] | undefined }

/**
 * Begins a session, and tells the owner if the account has not been used in this browser before. One transaction: no such session
 * is there without its mail. The first sign-in of an account needs none.
 */
const createBegin =
  ({ sessions, userChanges, accountChanges, knownDevices }: Dependencies) =>
  async (
    sql: Transaction,
    user: User,
    proof: FirstProof,
    { client, knownDevices: values }: Visit,
  ): Promise<NewSession | undefined> => {
    const account = { id: user.id, undoCount: user.undoCount ?? 0 }
    const remembered = values && knownDevices.remember(account, values)
    const browser = knownDevices.browserIn(account, remembered ?? [])
    const issued = await sessions.beginSession(sql, user, proof, { ...client, browser })
    if (!issued) return undefined
    const isFirst = await userChanges.noteSignIn(sql, user.id, client.language)
    const isKnown = knownDevices.find(account, values ?? []) !== undefined
    if (!isFirst && !isKnown) {
      // As the locked row has the names: a change of the email may have overtaken this sign-in.
      await accountChanges.bySignIn(sql, { user: issued.user, client }, { new_device: {} })
    }
    return { ...issued, knownDevices: remembered }
  }

export type NewSessions = ReturnType<typeof createNewSessions>

/** How sessions begin inside a transaction, and what is recorded of each that began. */
export const createNewSessions = (deps: Dependencies) => {
  const { accountChanges, events, identities, sessions } = deps
  const beginAndTell = createBegin(deps)

  /** With what a link has done to the account: its event names the session. */
  const begin = async (
    sql: Transaction,
    user: User,
    proof: FirstProof,
    visit: Visit,
    linked?: Changes<'provider_linked'>,
  ) => {
    const issued = await beginAndTell(sql, user, proof, visit)
    if (!issued) return undefined
    const caller = { userId: user.id, sessionId: issued.sessionId, generation: 0 }
    if (linked) await accountChanges.bySignIn(sql, { user, client: visit.client, caller }, linked)
    return issued
  }

  /**
   * No copy of the tokens that this browser had before works any more. After the commit: the earlier session may be one of another
   * user, whose deletion takes the rows in the opposite order.
   */
  const endEarlier = async ({ earlierSession: earlier, client }: Visit) => {
    if (earlier && (await sessions.end('signed_in', earlier)))
      await events.record({ kind: 'signed_out', ...earlier, reason: 'signed_in_again' }, client)
  }

  return {
    begin,
    /** A link that waited is written together with the session: the user's row is locked, and both are there or none. */
    beginWithLink: async (
      sql: Transaction,
      user: User,
      proof: FirstProof,
      link: Identity | undefined,
      visit: Visit,
    ) => {
      const linked = link && (await identities.linkByAddress(sql, user, link))
      return link && !linked ? undefined : begin(sql, user, proof, visit, linked)
    },
    /** After the commit. `created`: the provider with which the sign-in has created the account. */
    record: async (issued: NewSession, by: SignedInBy, visit: Visit, created?: Identity['provider']) => {
      const about = { userId: issued.user.id, sessionId: issued.sessionId }
      if (created) await events.record({ kind: 'registered', provider: created, ...about }, visit.client)
      await endEarlier(visit)
      await events.record({ ...eventOf(by), ...about }, visit.client)
      return issued
    },
  }
}
