import { isRefused, type Refused, refuse } from '../contract/outcome.js'
import { proofBeforeEnrolment } from '../factors/ways-to-sign-in.js'
import type { Client } from '../http/request-origin.js'
import type { Clock } from '../lib/clock.js'
import type { Events } from '../messages/events.js'
import type { MailedCodes } from '../messages/mailed-codes.js'
import type { Mails } from '../messages/mails.js'

import { commitUnlessRefused, type Database } from '../platform/database/database.js'
import type { User, Users } from '../users/users.js'
import type { Challenge, Challenges } from './pending-sign-ins.js'

type Dependencies = {
  database: Database
  challenges: Challenges
  mailedCodes: MailedCodes
  users: Users
  mails: Mails
  clock: Clock
  events: Events
}

const codePurpose = (challengeId: string) => ({ mail: 'enrolment-code', boundTo: challengeId }) as const

/**
 * The proof that is missing before a factor can be added. Undefined if none is missing. After a sign-in by mail the missing proof is the
 * password, if the account has one. Where no code can be mailed, or its address was never proven, a link from an operator takes its place,
 * which opens the enrolment for a day.
 */
const createMissingProof =
  ({ mails, clock }: Dependencies) =>
  ({ by, isOpened }: Challenge, { passwordHash, emailClaimed, firstFactorUntil }: User) => {
    const requiredProof = proofBeforeEnrolment(by)
    if (isOpened || requiredProof === null || requiredProof === 'its own mail') return undefined
    if (requiredProof === 'password') return passwordHash === undefined ? undefined : requiredProof
    if (!mails.isOff && !emailClaimed) return requiredProof
    return firstFactorUntil && firstFactorUntil > clock.now() ? undefined : ('link' as const)
  }

/** Compares a password with a hash. */
type Verify = (passwordHash: string) => Promise<{ matches: boolean } | Refused<'busy'>>

/** The proof that opens an enrolment. */
type MissingProof = NonNullable<ReturnType<ReturnType<typeof createMissingProof>>>
type OpeningProof = Exclude<MissingProof, 'link'>
const refusalFor = {
  password: 'current_password_required',
  'mailed code': 'mailed_code_required',
  link: 'link_required',
} as const satisfies Record<MissingProof, string>

const createFind = (deps: Dependencies) => {
  const { challenges, users } = deps
  const missingProof = createMissingProof(deps)
  const find = async (token: string) => {
    const challenge = await challenges.find(token)
    if (!challenge) return refuse('challenge_over')
    return challenge.kind === 'enrolment' ? challenge : refuse('not_enrolling')
  }

  /** A sign-in that waits for this proof. Refused with the proof that it waits for instead. Uses up no try. */
  const findWaitingFor = async <Proof extends OpeningProof>(proof: Proof, token: string) => {
    const challenge = await find(token)
    if (isRefused(challenge)) return challenge
    const user = await users.findEnabled(challenge.userId)
    if (!user) return refuse('challenge_over')
    const missing = missingProof(challenge, user)
    if (missing === undefined) return refuse('enrolment_open')
    if (missing === proof) return { challenge, user }
    return refuse(refusalFor[missing as Exclude<MissingProof, Proof>])
  }
  return { find, findWaitingFor, missingProof }
}
type Finding = ReturnType<typeof createFind>

/** Opens the enrolment of a sign-in by mail with the password. */
const createPasswordOpening = ({ database, challenges, events }: Dependencies, { findWaitingFor }: Finding) => ({
  /** A wrong password uses up a try of the sign-in. */
  enterPassword: async (token: string, verify: Verify, client: Client) => {
    const waitingSignIn = await findWaitingFor('password', token)
    if (isRefused(waitingSignIn)) return waitingSignIn
    const { user } = waitingSignIn
    const challenge = await challenges.reserveTry(token)
    if (!challenge) return refuse('challenge_over')
    const verification = await verify(user.passwordHash ?? '')
    if (isRefused(verification)) {
      await challenges.giveBackTry(token)
      return verification
    }
    if (!verification.matches) {
      await events.record({ kind: 'second_factor_failed', userId: user.id, reason: 'password' }, client)
      return refuse(challenge.triesLeft > 0 ? 'wrong_current_password' : 'challenge_over')
    }
    return (await challenges.open(database, token)) ? challenge : refuse('challenge_over')
  },
})

export type Enrolments = ReturnType<typeof createEnrolments>

/**
 * Sign-ins that go on when their user has added a second factor. Before that, the user enters a code that was mailed to the account's
 * address, unless the sign-in came with a mail: a stolen password alone must not be enough to add the thief's factor. After a sign-in by
 * mail the user enters the password instead, because two mails are one proof.
 */
export const createEnrolments = (deps: Dependencies) => {
  const { database, challenges, mailedCodes, users, events } = deps
  const finding = createFind(deps)
  const { find, findWaitingFor, missingProof } = finding

  return {
    find,

    /** The sign-in and its user, once a factor may be added. A challenge of another kind is refused. */
    findOpen: async (token: string) => {
      const challenge = await find(token)
      if (isRefused(challenge))
        return refuse(challenge.refused === 'not_enrolling' ? 'not_authenticated' : 'challenge_over')
      const user = await users.findEnabled(challenge.userId)
      if (!user) return refuse('challenge_over')
      const missing = missingProof(challenge, user)
      if (missing === undefined) return { challenge, user }
      return refuse(refusalFor[missing])
    },

    /** The proof that the user is asked for before a factor can be added. */
    missingProofOf: async (challenge: Challenge) => {
      const user = await users.findById(challenge.userId)
      return user && missingProof(challenge, user)
    },

    /** The sign-in and its user, if a mailed code opens it. */
    findToMail: (token: string) => findWaitingFor('mailed code', token),

    mailCode: ({ challenge: { id }, user }: { challenge: Challenge; user: User }, client: Client) =>
      mailedCodes.send(codePurpose(id), user, client),

    /** A wrong code uses up a try of the sign-in, even if another mail was sent meanwhile. */
    enterMailedCode: async (token: string, code: string, client: Client) => {
      const waitingSignIn = await findWaitingFor('mailed code', token)
      if (isRefused(waitingSignIn)) return waitingSignIn
      const challenge = await challenges.reserveTry(token)
      if (!challenge) return refuse('challenge_over')
      const mailedCode = await mailedCodes.check(codePurpose(challenge.id), challenge.userId, code)
      if (isRefused(mailedCode)) {
        const reason = mailedCode.refused === 'wrong_mailed_code' ? 'mailed_code' : 'mailed_code_void'
        await events.record({ kind: 'second_factor_failed', userId: challenge.userId, reason }, client)
        return challenge.triesLeft > 0 ? mailedCode : refuse('challenge_over')
      }
      return commitUnlessRefused(database, async (sql) => {
        if (!(await mailedCodes.take(sql, mailedCode.id))) return refuse('mailed_code_void')
        return (await challenges.open(sql, token)) ? challenge : refuse('challenge_over')
      })
    },
    ...createPasswordOpening(deps, finding),
  }
}
