import type { Changes } from '../account-changes/account-changes.js'
import type { AccountChangesRoom } from '../account-changes/open-account-changes.js'
import type { AmrMethod, NextStep, OpenQuestion } from '../contract/factors.js'
import type { SecondFactorMethod } from '../contract/second-factors.js'
import { completeWayOf, eventOf, type SignedInBy } from '../factors/ways-to-sign-in.js'
import type { Client } from '../http/request-origin.js'
import type { MessagesRoom } from '../messages/open-messages.js'
import type { Transaction } from '../platform/database/database.js'
import type { ProvidersRoom } from '../providers/open-providers.js'
import type { SessionsRoom } from '../sessions/open-sessions.js'
import type { Browser, SessionFacts } from '../sessions/session-facts.js'
import type { CheckedUser, DeviceSession, IssuedTokens } from '../sessions/sessions.js'
import type { UsersRoom } from '../users/open-users.js'
import type { Identity, User } from '../users/users.js'
import type { OpenQuestions } from './open-questions.js'
import type { PendingSignIns } from './pending-sign-ins.js'

type Parts = UsersRoom &
  SessionsRoom &
  MessagesRoom &
  AccountChangesRoom &
  ProvidersRoom & { pendingSignIns: PendingSignIns; questions: OpenQuestions }

/** The result of a proof: a session, or a sign-in that waits for what is still missing, by its token for the browser. */
export type SignInOutcome =
  | { issued: NewSession }
  | { pending: string; next: NextStep; methods: readonly SecondFactorMethod[] }

/**
 * A sign-in whose session may begin. `isHeld`: whether the transaction holds the row of the user already, as the user is given.
 * `passwordHash`: of the password that was checked in this request. `token`: of the sign-in that has waited until now. `answered`: the
 * question that the user has just answered. `registered`: with what the sign-in has created the account.
 */
type SignInToFinish = {
  by: SignedInBy
  facts: SessionFacts
  isHeld: boolean
  passwordHash?: string | null
  token?: string | undefined
  answered?: OpenQuestion
  registered?: RegisteredWith | undefined
}

export type RegisteredWith = { provider: Identity['provider'] } | { reason: 'mail' }

/**
 * A new session. `knownDevices` is the new value of the cookie that makes its browser known. It is undefined if another site has sent the
 * browser here, because then the browser may have that cookie and not send it.
 */
export type NewSession = IssuedTokens & { knownDevices: readonly string[] | undefined }

export const callerOf = ({ user, sessionId }: NewSession) => ({ userId: user.id, sessionId, generation: 0 })

/** Begins a session, and records the end of those that are too many for the user. */
const beginSession = async (
  { sessions, events }: SessionsRoom & MessagesRoom,
  sql: Transaction,
  user: CheckedUser,
  facts: SessionFacts,
  client: Client,
  session: { id: string } | DeviceSession,
): Promise<IssuedTokens | undefined> => {
  const begun = await sessions.beginSession(sql, user, facts, client, session)
  if (!begun) return undefined
  const { surplus, ...issued } = begun
  const ended = { kind: 'session_ended', userId: user.id, reason: 'too_many_sessions' } as const
  await Promise.all(surplus.map((sessionId) => events.recordInside(sql, { ...ended, sessionId }, client)))
  return issued
}

/**
 * Begins a session with its event, ends the wait of its sign-in, and tells the owner if the account was not used in this browser before. All of it happens in one
 * transaction, so no such session begins without its mail. The first sign-in of an account needs no mail. Whoever gets undefined takes back
 * what was written.
 */
const beginAndTell = async (
  parts: Parts,
  sql: Transaction,
  user: User,
  { by, facts, isHeld, passwordHash = null, token, registered }: SignInToFinish,
  { client, knownDevices: values }: Browser,
): Promise<NewSession | undefined> => {
  const { sessions, userChanges, accountChanges, knownDevices, events, pendingSignIns } = parts
  const account = { id: user.id, undoCount: user.undoCount }
  const newValues = values && knownDevices.remember(account, values)
  const browser = knownDevices.browserKey(account, newValues ?? [])
  const { undoCount } = user
  const checkedUser = isHeld ? { id: user.id, heldAs: user.username } : { id: user.id, undoCount, passwordHash }
  const id = sessions.newId()
  const about = { userId: user.id, sessionId: id }
  const [issued, isFirst] = await Promise.all([
    beginSession(parts, sql, checkedUser, facts, { ...client, browser }, { id }),
    userChanges.noteSignIn(sql, user.id, client.language),
    registered && events.recordInside(sql, { kind: 'registered', ...registered, ...about }, client),
    events.recordInside(sql, { ...eventOf(by), ...about }, client),
    token !== undefined && pendingSignIns.remove(sql, token),
  ])
  if (!issued) return undefined
  const isKnown = knownDevices.find(account, values ?? []) !== undefined
  if (!isFirst && !isKnown) {
    // The mail takes the names from the locked row, because a change of the email may have overtaken this sign-in.
    await accountChanges.bySignIn(sql, { user: { ...user, ...issued.user }, client }, { new_device: {} })
  }
  return { ...issued, knownDevices: newValues }
}

/** Begins the session, or lets the sign-in wait for the answer to the next open question. */
const beginOrWait = async (
  parts: Parts,
  sql: Transaction,
  user: User,
  signIn: SignInToFinish,
  browser: Browser,
): Promise<SignInOutcome | undefined> => {
  const { by, facts, passwordHash = null, token, answered } = signIn
  const { pendingSignIns, questions } = parts
  const next = await questions.nextFor(sql, user, answered)
  if (next === undefined) {
    const issued = await beginAndTell(parts, sql, user, signIn, browser)
    return issued && { issued }
  }
  if (!(await questions.hasAllProofs(sql, user, facts))) return undefined
  const completeSignIn = { user, kind: next, by: completeWayOf(by), facts, passwordHash, token, client: browser.client }
  const pending = await pendingSignIns.waitForAnswer(sql, completeSignIn)
  return pending === undefined ? undefined : { pending, next, methods: [] }
}

export type NewSessions = ReturnType<typeof createNewSessions>

/** Begins sessions inside a transaction, each with its event. */
export const createNewSessions = (parts: Parts) => {
  const { accountChanges, events, identities, sessions, questions } = parts

  /**
   * Begins the session or lets the sign-in wait, and links a provider if there is one to link. If a session began, the event of the link
   * names it.
   */
  const begin = async (
    sql: Transaction,
    user: User,
    signIn: SignInToFinish,
    browser: Browser,
    linkChanges?: Changes<'provider_linked'>,
  ) => {
    const outcome = await beginOrWait(parts, sql, user, signIn, browser)
    if (!outcome || !linkChanges) return outcome
    const session = 'issued' in outcome && { caller: callerOf(outcome.issued) }
    await accountChanges.bySignIn(sql, { user, client: browser.client, ...session }, linkChanges)
    return outcome
  }

  return {
    begin,
    /** Like `begin`, and writes a link that waited for the last proof. The user's row is locked, and both happen or neither. */
    beginWithLink: async (
      sql: Transaction,
      user: User,
      signIn: SignInToFinish,
      link: Identity | undefined,
      browser: Browser,
    ) => {
      const linkChanges = link && (await identities.linkByAddress(sql, user, link))
      return link && !linkChanges ? undefined : begin(sql, user, signIn, browser, linkChanges)
    },
    /** Whether a session of this user would wait for an answer. */
    hasOpenQuestion: async (sql: Transaction, user: User) => (await questions.nextFor(sql, user)) !== undefined,
    /**
     * Ends the session that this browser had before, so that no copy of its tokens works any more. It is ended after the commit, because it
     * may belong to another user, whose deletion locks the rows in the opposite order.
     */
    endEarlier: async (outcome: SignInOutcome, { earlierSession, client }: Browser) => {
      if ('issued' in outcome && earlierSession && (await sessions.end('signed_in', earlierSession)))
        await events.record({ kind: 'signed_out', ...earlierSession, reason: 'signed_in_again' }, client)
    },
  }
}

/** `program` and `resource`: the names in the mail. */
type NewDeviceSession = {
  user: User
  session: DeviceSession
  client: Client
  program: string
  resource: string | undefined
}

/**
 * The session of a device that a signed-in user has approved. It is no further way to sign in: it has the proofs of the session that
 * approved it, with their times, and the trigger for second factors checks it like every other session. Its own tokens are given to no one,
 * so only the application can use it. The owner is told by mail, because the approval may be the result of a fraud.
 * The transaction holds the user, who is not disabled. False if the user needs another factor by now.
 */
export const beginDeviceSession = async (
  parts: SessionsRoom & AccountChangesRoom & MessagesRoom,
  sql: Transaction,
  { user, session, client, program, resource }: NewDeviceSession,
) => {
  const { accountChanges, events } = parts
  const heldUser = { id: user.id, heldAs: user.username }
  // Each fact is decided here: apart from its proof, the device gets nothing of the session that has approved it.
  const methods = session.proof.methods as AmrMethod[]
  const facts: SessionFacts = { methods, freshSince: 'now', provider: null, trustedDevice: null }
  const issued = await beginSession(parts, sql, heldUser, facts, client, session)
  if (!issued) return false
  const mail = { programName: program, resourceName: resource }
  await accountChanges.bySignIn(sql, { user: { ...user, ...issued.user }, client }, { new_program: { mail } })
  const about = { userId: user.id, sessionId: session.id, sessionBeganBy: 'device' } as const
  await events.recordInside(sql, { kind: 'signed_in', reason: 'device', ...about }, client)
  return true
}
