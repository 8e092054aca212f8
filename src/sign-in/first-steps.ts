import type { ProofStep } from '../contract/factors.js'
import { isRefused, refuse } from '../contract/outcome.js'
import type { NextSteps } from '../factors/second-factors.js'
import type { TrustedDevices } from '../factors/trusted-devices.js'
import {
  type FirstBy,
  freshSinceOf,
  labelOf,
  provesMail,
  skipsOnTrustedDevice,
  waitingWayOf,
  waysToSignIn,
} from '../factors/ways-to-sign-in.js'
import type { Events } from '../messages/events.js'
import { commitUnlessRefused, type Database, type Transaction } from '../platform/database/database.js'
import type { InitialProof } from '../sessions/sessions.js'
import type { Identity, User, Users } from '../users/users.js'
import type { Challenges } from './challenges.js'
import type { NewSessions, SignInOutcome } from './new-sessions.js'
import type { Visit } from './sign-ins.js'

/**
 * A first proof. `identity` is the linked identity at a provider, which counts only if it was not unlinked meanwhile. `link` is an identity
 * that is linked together with the session. `provenAt` is when the user last gave the proof at the provider, if the provider says so.
 * `claim` uses the proof up in the transaction of what follows. It returns false if the proof was used before.
 */
type FirstStep = {
  by: FirstBy
  passwordHash?: string
  identity?: Identity
  link?: Identity
  provenAt?: Date | undefined
  claim?: (sql: Transaction) => Promise<boolean>
}

type Dependencies = {
  database: Database
  users: Pick<Users, 'lockLinked'>
  events: Pick<Events, 'record'>
  trustedDevices: Pick<TrustedDevices, 'find'>
  challenges: Pick<Challenges, 'begin'>
  nextSteps: NextSteps
  newSessions: NewSessions
}

const proofOf = ({ by, passwordHash, provenAt }: FirstStep): InitialProof => {
  return {
    methods: [waysToSignIn[by.way].method],
    passwordHash,
    provider: by.provider,
    provenAt: freshSinceOf(by.way, provenAt),
  }
}

export type FirstSteps = ReturnType<typeof createFirstSteps>

/** Goes on after the first proof of a sign-in. */
export const createFirstSteps = (deps: Dependencies) => {
  const { database, users, events, trustedDevices, challenges, nextSteps, newSessions } = deps

  /**
   * Runs `work` in one transaction. Undefined, with nothing written, if `work` returns nothing or the first proof does not count any more.
   */
  const ifStillProven = async <Result extends SignInOutcome | string>(
    { id }: User,
    { identity, claim }: FirstStep,
    work: (sql: Transaction) => Promise<Result | undefined>,
  ) => {
    const result = await commitUnlessRefused(database, async (sql) => {
      if (identity && !(await users.lockLinked(sql, id, identity))) return refuse('not_linked')
      if (claim && !(await claim(sql))) return refuse('account_changed')
      return (await work(sql)) ?? refuse('account_changed')
    })
    return isRefused(result) ? undefined : result
  }

  const beginChallenge = async (user: User, step: FirstStep, next: ProofStep, { client }: Visit) => {
    const by = waitingWayOf(step.by)
    const { passwordHash, link } = step
    const challenge = await ifStillProven(user, step, (sql) =>
      challenges.begin(sql, { user, kind: next, by, passwordHash, link, mailProven: provesMail(step.by), client }),
    )
    if (challenge === undefined) return undefined
    const reason = `${labelOf(by)}${next === 'enrolment' ? ' enrolment' : ''}`
    await events.record({ kind: 'second_factor_asked', userId: user.id, reason }, client)
    return challenge
  }

  /**
   * Begins a session, or a challenge. The insert of the session is the check: nothing is inserted if a second proof is needed, even if that
   * was switched on a moment ago. Undefined if the account has changed since its first proof.
   */
  const enter = async (user: User, step: FirstStep, visit: Visit): Promise<SignInOutcome | undefined> => {
    const proof = proofOf(step)
    const { begin, beginWithLink } = newSessions
    const { by, link } = step
    const outcome = link ? undefined : await ifStillProven(user, step, (sql) => begin(sql, user, { by, proof }, visit))
    if (outcome) return outcome
    const nextStep = await nextSteps.nextFor(user.id)
    if (!nextStep) return undefined
    const { allowsTrustedDevice, next, methods } = nextStep
    const mayUseTrustedDevice = allowsTrustedDevice && skipsOnTrustedDevice(by)
    const trustedDevice = mayUseTrustedDevice ? await trustedDevices.find(user.id, visit.trustedDevices) : undefined
    if (trustedDevice !== undefined) {
      return ifStillProven(user, step, (sql) =>
        beginWithLink(sql, user, { by, proof: { ...proof, trustedDevice } }, link, visit),
      )
    }
    const challenge = await beginChallenge(user, step, next, visit)
    return challenge === undefined ? undefined : { challenge, next, methods }
  }

  return { enter }
}
