import type { Changes } from '../account-changes/account-changes.js'
import type { AccountChangesRoom } from '../account-changes/open-account-changes.js'
import type { OpenQuestion } from '../contract/factors.js'
import { isRefused, type Refused, refuse } from '../contract/outcome.js'
import { factorProvenBy } from '../contract/second-factors.js'
import type { FactorsRoom } from '../factors/open-factors.js'
import type { ProvenPasskey } from '../factors/passkeys.js'
import type { MessagesRoom } from '../messages/open-messages.js'
import { commitUnlessRefused, type Database, type Transaction } from '../platform/database/database.js'
import type { ProvidersRoom } from '../providers/open-providers.js'
import type { SessionsRoom } from '../sessions/open-sessions.js'
import { type Browser, type SessionFacts, type Visit, withSecondProof } from '../sessions/session-facts.js'
import type { UsersRoom } from '../users/open-users.js'
import type { User } from '../users/users.js'
import type { Enrolments } from './enrolments.js'
import { callerOf, type NewSessions, type SignInOutcome } from './new-sessions.js'
import type { Answers, OpenQuestions } from './open-questions.js'
import type { PendingSignIn, PendingSignIns } from './pending-sign-ins.js'

/** What every way to sign in needs. */
export type SignInParts = UsersRoom &
  SessionsRoom &
  MessagesRoom &
  AccountChangesRoom &
  FactorsRoom &
  ProvidersRoom & {
    database: Database
    pendingSignIns: PendingSignIns
    enrolments: Enrolments
    questions: OpenQuestions
    newSessions: NewSessions
  }

type SecondProof = { token: string; code: string; trustDevice: boolean }

/** Trusts the browser, so that it needs no code from now on, and tells the owner. */
const trustBrowser = async (
  { trustedDevices, accountChanges }: SignInParts,
  sql: Transaction,
  user: User,
  browser: Browser,
) => {
  const newTokens = await trustedDevices.add(sql, user.id, browser)
  if (newTokens) await accountChanges.bySignIn(sql, { user, client: browser.client }, { device_trusted: {} })
  return newTokens
}

/**
 * In one transaction, the code is used up, the waiting sign-in is removed, the link is written and the session begins. If one of them fails,
 * none happens.
 */
const finishByCode = async (
  parts: SignInParts,
  pending: PendingSignIn,
  { token, code, trustDevice }: SecondProof,
  browser: Browser,
) => {
  const { users, knownDevices, factors, pendingSignIns, newSessions } = parts
  const { userId, by, link } = pending
  const { client } = browser
  const user = browser.knownDevices?.length ? await users.findById(userId) : undefined
  const device = user && knownDevices.find(user, browser.knownDevices ?? [])
  return factors.prove({ userId, code, client, device }, async (sql, owner, accept, method) => {
    // Sent together, in this order. A refusal takes back both.
    const [isWaiting, isAccepted] = await Promise.all([pendingSignIns.lock(sql, token), accept()])
    if (!isWaiting) return refuse('challenge_over')
    if (!isAccepted) return refuse('wrong_second_factor')
    const signIn = { by, facts: withSecondProof(pending.facts, method), isHeld: true, token }
    const outcome = await newSessions.beginWithLink(sql, owner, signIn, link, browser)
    if (!outcome) return refuse('challenge_over')
    const isTrusted = trustDevice && factorProvenBy(method)?.trustsBrowser === true
    return { outcome, trustedDevices: isTrusted ? await trustBrowser(parts, sql, owner, browser) : undefined }
  })
}

/** Finishes a waiting sign-in with a code of the app or a recovery code. */
export const byCode = async (parts: SignInParts, secondProof: SecondProof, browser: Browser) => {
  const { pendingSignIns, enrolments, newSessions } = parts
  const pending = await pendingSignIns.reserveTry(secondProof.token)
  if (!pending) return refuse('challenge_over')
  if (pending.kind !== 'second_factor') {
    await pendingSignIns.giveBackTry(secondProof.token)
    if (pending.kind !== 'enrolment') return refuse('other_step')
    const missing = await enrolments.missingProofOf(pending)
    if (missing === 'link') return refuse('link_required')
    return refuse(missing === 'mailed code' ? 'mailed_code_required' : 'no_totp_begun')
  }
  const finished = await finishByCode(parts, pending, secondProof, browser)
  if (isRefused(finished)) {
    // There were too many wrong codes before, so this code was not compared.
    if (finished.refused === 'too_many_requests') await pendingSignIns.giveBackTry(secondProof.token)
    return finished
  }
  await newSessions.endEarlier(finished.outcome, browser)
  return finished
}

/** The waiting sign-in of this browser, if it belongs to this user. It goes on with the passkey. */
const lockPending = async (
  { pendingSignIns }: SignInParts,
  sql: Transaction,
  token: string | undefined,
  userId: string,
) => {
  if (token === undefined || !(await pendingSignIns.lock(sql, token))) return undefined
  const pending = await pendingSignIns.find(sql, token)
  return pending?.userId === userId ? { ...pending, token } : undefined
}

/** If the proofs of a waiting sign-in are not complete yet, the passkey is its second factor. */
const factsByPasskey = (pending: PendingSignIn | undefined, factsAtFirst: SessionFacts): SessionFacts =>
  pending === undefined || pending.isProven
    ? {
        ...(pending?.facts ?? factsAtFirst),
        methods: ['passkey'],
        freshSince: 'now',
        provider: null,
        trustedDevice: null,
      }
    : withSecondProof(pending.facts, 'passkey')

/**
 * Signs in with a passkey, which is two factors by itself. It also finishes the sign-in of its user that waits in this browser. Undefined
 * if the user is disabled or gone, or the passkey was removed or copied.
 */
export const byPasskey = async (
  parts: SignInParts,
  provenPasskey: ProvenPasskey,
  token: string | undefined,
  { facts: factsAtFirst, ...browser }: Visit,
) => {
  const { database, users, passkeys, identities, newSessions } = parts
  const by = { way: 'passkey' } as const
  // In one transaction, the use of the passkey is stored and the session begins. If one of them fails, neither happens.
  const result = await commitUnlessRefused(database, async (sql) => {
    const user = await users.lockEnabled(sql, provenPasskey.userId)
    if (!user || !(await passkeys.accept(sql, provenPasskey))) return refuse('no_session')
    const pending = await lockPending(parts, sql, token, user.id)
    const facts = factsByPasskey(pending, factsAtFirst)
    const linkChanges = pending?.link && (await identities.linkByAddress(sql, user, pending.link))
    const signIn = { by, facts, isHeld: true, token: pending?.token }
    const outcome = await newSessions.begin(sql, user, signIn, browser, linkChanges)
    return outcome ? { outcome, hadWaited: pending !== undefined } : refuse('no_session')
  })
  if (isRefused(result)) return undefined
  await newSessions.endEarlier(result.outcome, browser)
  return result
}

/** Adds the factor. It gets the id of the waiting sign-in, to which the new factor is bound. */
export type AddFactor<Added, Code extends string> = (
  sql: Transaction,
  user: User,
  pendingId: string,
) => Promise<{ result: Added; changes: Changes<'totp_added' | 'passkey_added'> } | Refused<Code>>

/**
 * Adds an app or the first passkey to an account without a factor, at the sign-in that needs one, and begins the session. One transaction
 * locks the user's row, and both happen or neither.
 */
export const byEnrolment = async <Added, Code extends string>(
  parts: SignInParts,
  { token, second }: { token: string; second: 'otp' | 'passkey' },
  browser: Browser,
  add: AddFactor<Added, Code>,
) => {
  const { database, users, accountChanges, pendingSignIns, enrolments, factors, newSessions } = parts
  const enrolment = await enrolments.findOpen(token)
  if (isRefused(enrolment)) return enrolment
  const { pending } = enrolment
  const { by, link } = pending
  const finished = await commitUnlessRefused(database, async (sql) => {
    const user = await users.lockEnabled(sql, pending.userId)
    if (!user || !(await pendingSignIns.lock(sql, token))) return refuse('challenge_over')
    // This happens if the account got a factor in another browser just before this sign-in began to wait.
    if (await factors.hasFactor(sql, user.id)) return refuse('challenge_over')
    const added = await add(sql, user, pending.id)
    if ('refused' in added) return added
    // A new factor voids the sign-ins that wait, including this one. If a question is open, this sign-in begins to wait again, without its
    // token.
    const mustWait = await newSessions.hasOpenQuestion(sql, user)
    if (mustWait) await accountChanges.bySignIn(sql, { user, client: browser.client }, added.changes)
    const facts = withSecondProof(pending.facts, second)
    const signIn = { by, facts, isHeld: true, token: mustWait ? undefined : token }
    const outcome: SignInOutcome | undefined = await newSessions.beginWithLink(sql, user, signIn, link, browser)
    // If the sign-in cannot go on, the factor must not stay, because its recovery codes would never be shown.
    if (!outcome) return refuse('challenge_over')
    if ('issued' in outcome) {
      const caller = callerOf(outcome.issued)
      await accountChanges.bySignIn(sql, { user, client: browser.client, caller }, added.changes)
    }
    return { outcome, added: added.result }
  })
  if ('outcome' in finished) await newSessions.endEarlier(finished.outcome, browser)
  return finished
}

/**
 * Takes the answer to the question that a sign-in is asked after its proofs. In one transaction, the answer is written, and the session
 * begins or the sign-in waits for the next answer.
 */
export const byAnswer = async <Question extends OpenQuestion>(
  { database, users, accountChanges, pendingSignIns, questions, newSessions }: SignInParts,
  token: string,
  question: Question,
  given: Answers[Question],
  browser: Browser,
) => {
  const pending = await pendingSignIns.find(token)
  if (!pending) return refuse('challenge_over')
  if (pending.kind !== question) return refuse('other_step')
  const { userId, by, facts } = pending
  const outcome = await commitUnlessRefused(database, async (sql) => {
    const user = await users.lockEnabled(sql, userId)
    if (!user || !(await pendingSignIns.lock(sql, token))) return refuse('challenge_over')
    const result = await questions.answer(sql, user, question, given)
    if ('refused' in result) return result
    await accountChanges.bySignIn(sql, { user, client: browser.client }, result.changes)
    const signIn = { by, facts, isHeld: true, token, answered: question }
    return (await newSessions.begin(sql, user, signIn, browser)) ?? refuse('challenge_over')
  })
  if (!('refused' in outcome)) await newSessions.endEarlier(outcome, browser)
  return outcome
}
