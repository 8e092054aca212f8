import type { LastStep, NextStep, SecondFactorMethod } from '../../contract/factors.js'
import type { Transaction } from '../../platform/database/database.js'
import type { AccountChanges, Changes } from '../accounts/account-changes.js'
import type { Events } from '../events/events.js'
import type { KnownDevices } from '../known-devices/known-devices.js'
import type { Identities } from '../providers/identities.js'
import type { FirstProof, Issued, Sessions } from '../sessions/sessions.js'
import type { UserChanges } from '../users/user-changes.js'
import type { Identity, User } from '../users/users.js'
import type { Challenges } from './challenges.js'
import type { LastSteps } from './last-steps.js'
import type { Visit } from './sign-ins.js'
import { completeOf, eventOf, type SignedInBy } from './ways-to-sign-in.js'

type Dependencies = {
  sessions: Sessions
  userChanges: Pick<UserChanges, 'noteSignIn'>
  accountChanges: Pick<AccountChanges, 'bySignIn'>
  knownDevices: KnownDevices
  events: Pick<Events, 'record'>
  identities: Pick<Identities, 'linkByAddress'>
  challenges: Pick<Challenges, 'waitFor' | 'remove'>
  lastSteps: Pick<LastSteps, 'nextFor' | 'areDue'>
}

/** The result of a proof: a session, or a challenge for what is still missing. */
export type Entry =
  | { issued: NewSession }
  | { challenge: string; next: NextStep; methods: readonly SecondFactorMethod[] }

/** A sign-in. `token`: of the challenge that it has waited with; `done`: the last step that was answered. */
type Entering = { by: SignedInBy; proof: FirstProof; token?: string | undefined; done?: LastStep }

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
    const browser = knownDevices.browserKey(account, remembered ?? [])
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

export const callerOf = ({ user, sessionId }: NewSession) => ({ userId: user.id, sessionId, generation: 0 })

/** A session, or the first of the last steps that is open. */
const createBeginOrWait = (deps: Dependencies) => {
  const { challenges, lastSteps } = deps
  const beginAndTell = createBegin(deps)
  return async (
    sql: Transaction,
    user: User,
    { by, proof, token, done }: Entering,
    visit: Visit,
  ): Promise<Entry | undefined> => {
    const next = await lastSteps.nextFor(sql, user, done)
    if (next === undefined) {
      const issued = await beginAndTell(sql, user, proof, visit)
      if (issued && token !== undefined) await challenges.remove(sql, token)
      return issued && { issued }
    }
    if (!(await lastSteps.areDue(sql, user, proof))) return undefined
    const waiting = { user, kind: next, by: completeOf(by), proof, token, client: visit.client }
    const challenge = await challenges.waitFor(sql, waiting)
    return challenge === undefined ? undefined : { challenge, next, methods: [] }
  }
}

export type NewSessions = ReturnType<typeof createNewSessions>

/** How sessions begin inside a transaction, and what is recorded of each that began. */
export const createNewSessions = (deps: Dependencies) => {
  const { accountChanges, events, identities, sessions, lastSteps } = deps
  const beginOrWait = createBeginOrWait(deps)

  /** With what a link has done to the account: its event names the session, if it begins now. */
  const begin = async (
    sql: Transaction,
    user: User,
    entering: Entering,
    visit: Visit,
    linked?: Changes<'provider_linked'>,
  ) => {
    const entry = await beginOrWait(sql, user, entering, visit)
    if (!entry || !linked) return entry
    const session = 'issued' in entry && { caller: callerOf(entry.issued) }
    await accountChanges.bySignIn(sql, { user, client: visit.client, ...session }, linked)
    return entry
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
    /** A link that waited is written together with the last proof: the user's row is locked, and both are there or none. */
    beginWithLink: async (
      sql: Transaction,
      user: User,
      entering: Entering,
      link: Identity | undefined,
      visit: Visit,
    ) => {
      const linked = link && (await identities.linkByAddress(sql, user, link))
      return link && !linked ? undefined : begin(sql, user, entering, visit, linked)
    },
    /** Whether a session of this user would wait for a last step. */
    hasLastStep: async (sql: Transaction, user: User) => (await lastSteps.nextFor(sql, user)) !== undefined,
    /** After the commit. `created`: the provider with which the sign-in has created the account. */
    record: async (entry: Entry, by: SignedInBy, visit: Visit, created?: Identity['provider']) => {
      if (!('issued' in entry)) return
      const { issued } = entry
      const about = { userId: issued.user.id, sessionId: issued.sessionId }
      if (created) await events.record({ kind: 'registered', provider: created, ...about }, visit.client)
      await endEarlier(visit)
      await events.record({ ...eventOf(by), ...about }, visit.client)
    },
  }
}
