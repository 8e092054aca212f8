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
import type { Visit } from '../sessions/session-facts.js'
import type { InitialProof } from '../sessions/sessions.js'
import type { Identity, User, Users } from '../users/users.js'
import type { NewSessions, SignInOutcome } from './new-sessions.js'
import type { Challenges } from './pending-sign-ins.js'
import type { ByCode, ByEnrolment, ByPasskey } from './second-proofs.js'

export type { Visit } from '../sessions/session-facts.js'
export type { SignInOutcome } from './new-sessions.js'

type SignInsDependencies = {
  events: Events
  challenges: Challenges
  nextSteps: NextSteps
  newSessions: NewSessions
  firstSteps: FirstSteps
  bySecondFactor: ByCode
  byPasskey: ByPasskey
  byEnrolment: ByEnrolment
}

/** Signs in the user of an account that was just created. Undefined if it was disabled or deleted meanwhile. */
const createByNewAccount =
  ({ events, newSessions, firstSteps }: SignInsDependencies) =>
  async (user: User, way: 'registration' | 'setup', visit: Visit) => {
    const by = { way }
    const outcome = await firstSteps.enter(user, { by }, visit)
    if (!outcome) return undefined
    if ('issued' in outcome) await newSessions.record(outcome, by, visit)
    else
      await events.record(
        { kind: 'registered', userId: user.id, ...(way === 'setup' && { reason: way }) },
        visit.client,
      )
    return outcome
  }

/** `claim` uses the mail up, once, in the transaction of the session. */
type ByMail = { claim?: (sql: Transaction) => Promise<boolean>; isNew: boolean }

/** `provenAt`: when the user last signed in at the provider, if the provider says so. */
type ByProvider = {
  identity: Identity
  provenAt: Date | undefined
  /** Whether the sign-in has created the account. */
  isNew: boolean
  isLinkWaiting: boolean
}

/** Signs in by a provider. A link that waits is written together with the session. */
const createByProvider =
  ({ events, newSessions, firstSteps }: SignInsDependencies) =>
  async (user: User, { identity, provenAt, isNew, isLinkWaiting }: ByProvider, visit: Visit) => {
    const { provider } = identity
    const by = { way: 'provider', provider } as const
    const identityOrLink = isLinkWaiting ? { link: identity } : { identity }
    const outcome = await firstSteps.enter(user, { by, provenAt, ...identityOrLink }, visit)
    if (!outcome) throw new Error('The account changed while signing in')
    if ('issued' in outcome) await newSessions.record(outcome, by, visit, isNew ? provider : undefined)
    // There is no session yet, but the account exists already.
    else if (isNew) await events.record({ kind: 'registered', userId: user.id, provider }, visit.client)
    return outcome
  }

/** Signs in by mail. Undefined if the mail was used or voided meanwhile, or the user was disabled. */
const createByMail =
  ({ events, newSessions, firstSteps }: SignInsDependencies) =>
  async (user: User, { claim, isNew }: ByMail, visit: Visit) => {
    const by = { way: 'mail' } as const
    const outcome = await firstSteps.enter(user, { by, ...(claim && { claim }) }, visit)
    if (outcome && isNew) await events.record({ kind: 'registered', userId: user.id, reason: by.way }, visit.client)
    if (outcome) await newSessions.record(outcome, by, visit)
    return outcome
  }

export type SignIns = ReturnType<typeof createSignIns>

/**
 * Every way to sign in ends here, and nothing else may begin a session (`scripts/architecture` enforces it). Whatever the kind of an event,
 * only `sessionBeganBy` says that a session began with it.
 */
export const createSignIns = (deps: SignInsDependencies) => {
  const { challenges, nextSteps, newSessions, bySecondFactor, byPasskey, byEnrolment } = deps
  const { enter } = deps.firstSteps
  const byNewAccount = createByNewAccount(deps)

  return {
    /** Undefined if the password has changed since it was checked, or the user was disabled meanwhile. */
    byPassword: async (user: User, passwordHash: string, visit: Visit) => {
      const by = { way: 'password' } as const
      const outcome = await enter(user, { by, passwordHash }, visit)
      if (outcome) await newSessions.record(outcome, by, visit)
      return outcome
    },

    /** The user has just proven the email address of the new account, and chosen or entered its password. */
    byRegistration: (user: User, visit: Visit) => byNewAccount(user, 'registration', visit),

    /** The user has just made the first account with the link of the setup, and has chosen its password. */
    bySetup: (user: User, visit: Visit) => byNewAccount(user, 'setup', visit),

    /**
     * The user has just chosen this password with a mailed link. If the account has a second step, it is still asked for. Undefined if
     * the password was changed again, or the account was disabled, meanwhile.
     */
    byReset: async (user: User, passwordHash: string, visit: Visit) => {
      const by = { way: 'reset' } as const
      const outcome = await enter(user, { by, passwordHash }, visit)
      if (outcome) await newSessions.record(outcome, by, visit)
      return outcome
    },

    byProvider: createByProvider(deps),
    byMail: createByMail(deps),
    bySecondFactor,
    byPasskey,
    byEnrolment,

    /** Whether a first proof is not enough for this account. Then a link to it is written together with the session. */
    needsSecondStep: async (sql: Transaction, userId: string) => (await nextSteps.nextFor(sql, userId)) !== undefined,

    /** The challenge of the sign-in that waits in this browser. Undefined if there is none. */
    findChallenge: (token: string) => challenges.find(token),
    methodsOf: nextSteps.methodsOf,
  }
}

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

type FirstStepsDependencies = {
  database: Database
  users: Users
  events: Events
  trustedDevices: TrustedDevices
  challenges: Challenges
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

type FirstSteps = ReturnType<typeof createFirstSteps>

/** Goes on after the first proof of a sign-in. */
export const createFirstSteps = (deps: FirstStepsDependencies) => {
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
