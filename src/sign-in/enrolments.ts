import { isRefused, type Refused, refuse } from '../contract/outcome.js'
import { proofBeforeEnrolment } from '../factors/ways-to-sign-in.js'
import type { Client } from '../http/request-origin.js'
import type { Clock } from '../lib/clock.js'
import type { MessagesRoom } from '../messages/open-messages.js'
import { commitUnlessRefused, type Database } from '../platform/database/database.js'
import type { UsersRoom } from '../users/open-users.js'
import type { User } from '../users/users.js'
import type { PendingSignIn, PendingSignIns } from './pending-sign-ins.js'

type Parts = UsersRoom & MessagesRoom & { database: Database; clock: Clock; pendingSignIns: PendingSignIns }

const codePurpose = (pendingId: string) => ({ mail: 'enrolment-code', boundTo: pendingId }) as const

/** The proof that opens an enrolment. */
type OpeningProof = 'password' | 'mailed code'
type MissingProof = OpeningProof | 'link'

/**
 * The proof that is missing before a factor can be added. Undefined if none is missing. After a sign-in by mail the missing proof is the
 * password, if the account has one. Where no code can be mailed, or its address was never proven, a link from an operator takes its place,
 * which opens the enrolment for a day.
 */
const missingProof = (
  { mails, clock }: Parts,
  { by, isOpened }: PendingSignIn,
  { passwordHash, emailClaimed, firstFactorUntil }: User,
): MissingProof | undefined => {
  const requiredProof = proofBeforeEnrolment(by)
  if (isOpened || requiredProof === null || requiredProof === 'its own mail') return undefined
  if (requiredProof === 'password') return passwordHash === undefined ? undefined : requiredProof
  if (!mails.isOff && !emailClaimed) return requiredProof
  return firstFactorUntil && firstFactorUntil > clock.now() ? undefined : 'link'
}

/** Compares a password with a hash. */
type Verify = (passwordHash: string) => Promise<{ matches: boolean } | Refused<'busy'>>

const refusalFor = {
  password: 'current_password_required',
  'mailed code': 'mailed_code_required',
  link: 'link_required',
} as const satisfies Record<MissingProof, string>

const find = async ({ pendingSignIns }: Parts, token: string) => {
  const pending = await pendingSignIns.find(token)
  if (!pending) return refuse('challenge_over')
  return pending.kind === 'enrolment' ? pending : refuse('not_enrolling')
}

/** A sign-in that waits for this proof. Refused with the proof that it waits for instead. Uses up no try. */
const findWaitingFor = async <Proof extends OpeningProof>(parts: Parts, proof: Proof, token: string) => {
  const pending = await find(parts, token)
  if (isRefused(pending)) return pending
  const user = await parts.users.findEnabled(pending.userId)
  if (!user) return refuse('challenge_over')
  const missing = missingProof(parts, pending, user)
  if (missing === undefined) return refuse('enrolment_open')
  if (missing === proof) return { pending, user }
  return refuse(refusalFor[missing as Exclude<MissingProof, Proof>])
}

/** A wrong password uses up a try of the sign-in. */
const enterPassword = async (parts: Parts, token: string, verify: Verify, client: Client) => {
  const { database, pendingSignIns, events } = parts
  const waiting = await findWaitingFor(parts, 'password', token)
  if (isRefused(waiting)) return waiting
  const { user } = waiting
  const pending = await pendingSignIns.reserveTry(token)
  if (!pending) return refuse('challenge_over')
  const verification = await verify(user.passwordHash ?? '')
  if (isRefused(verification)) {
    await pendingSignIns.giveBackTry(token)
    return verification
  }
  if (!verification.matches) {
    await events.record({ kind: 'second_factor_failed', userId: user.id, reason: 'password' }, client)
    return refuse(pending.triesLeft > 0 ? 'wrong_current_password' : 'challenge_over')
  }
  return (await pendingSignIns.open(database, token)) ? pending : refuse('challenge_over')
}

/** A wrong code uses up a try of the sign-in, even if another mail was sent meanwhile. */
const enterMailedCode = async (parts: Parts, token: string, code: string, client: Client) => {
  const { database, pendingSignIns, mailedCodes, events } = parts
  const waiting = await findWaitingFor(parts, 'mailed code', token)
  if (isRefused(waiting)) return waiting
  const pending = await pendingSignIns.reserveTry(token)
  if (!pending) return refuse('challenge_over')
  const mailedCode = await mailedCodes.check(codePurpose(pending.id), pending.userId, code)
  if (isRefused(mailedCode)) {
    const reason = mailedCode.refused === 'wrong_mailed_code' ? 'mailed_code' : 'mailed_code_void'
    await events.record({ kind: 'second_factor_failed', userId: pending.userId, reason }, client)
    return pending.triesLeft > 0 ? mailedCode : refuse('challenge_over')
  }
  return commitUnlessRefused(database, async (sql) => {
    if (!(await mailedCodes.take(sql, mailedCode.id))) return refuse('mailed_code_void')
    return (await pendingSignIns.open(sql, token)) ? pending : refuse('challenge_over')
  })
}

export type Enrolments = ReturnType<typeof createEnrolments>

/**
 * Sign-ins that go on when their user has added a second factor. Before that, the user enters a code that was mailed to the account's
 * address, unless the sign-in came with a mail: a stolen password alone must not be enough to add the thief's factor. After a sign-in by
 * mail the user enters the password instead, because two mails are one proof.
 */
export const createEnrolments = (parts: Parts) => ({
  find: (token: string) => find(parts, token),

  /** The sign-in and its user, once a factor may be added. A sign-in that waits for something else is refused. */
  findOpen: async (token: string) => {
    const pending = await find(parts, token)
    if (isRefused(pending)) return refuse(pending.refused === 'not_enrolling' ? 'not_authenticated' : 'challenge_over')
    const user = await parts.users.findEnabled(pending.userId)
    if (!user) return refuse('challenge_over')
    const missing = missingProof(parts, pending, user)
    return missing === undefined ? { pending, user } : refuse(refusalFor[missing])
  },

  /** The proof that the user is asked for before a factor can be added. */
  missingProofOf: async (pending: PendingSignIn) => {
    const user = await parts.users.findById(pending.userId)
    return user && missingProof(parts, pending, user)
  },

  /** The sign-in and its user, if a mailed code opens it. */
  findToMail: (token: string) => findWaitingFor(parts, 'mailed code', token),

  mailCode: ({ pending: { id }, user }: { pending: PendingSignIn; user: User }, client: Client) =>
    parts.mailedCodes.send(codePurpose(id), user, client),

  enterMailedCode: (token: string, code: string, client: Client) => enterMailedCode(parts, token, code, client),

  enterPassword: (token: string, verify: Verify, client: Client) => enterPassword(parts, token, verify, client),
})
