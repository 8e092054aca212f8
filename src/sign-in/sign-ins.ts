import type { NextSteps } from '../factors/second-factors.js'
import type { Client } from '../http/request-origin.js'
import type { Events } from '../messages/events.js'
import type { Transaction } from '../platform/database/database.js'
import type { Identity, User } from '../users/users.js'
import type { Challenges } from './challenges.js'
import type { FirstSteps } from './first-steps.js'
import type { NewSessions } from './new-sessions.js'
import type { ByCode, ByEnrolment, ByPasskey } from './second-steps.js'

export type { SignInOutcome } from './new-sessions.js'

/** A browser that signs in, and what it has from earlier sign-ins. */
export type Visit = {
  client: Client
  trustedDevices: readonly string[]
  /** Undefined if the browser has not sent this cookie, although it may have it. */
  knownDevices: readonly string[] | undefined
  /** The session whose refresh token the browser has sent. It ends when another session begins in this browser. */
  earlierSession: { userId: string; sessionId: string } | undefined
}

type Dependencies = {
  events: Pick<Events, 'record'>
  challenges: Pick<Challenges, 'find'>
  nextSteps: Pick<NextSteps, 'nextFor' | 'methodsOf'>
  newSessions: Pick<NewSessions, 'record'>
  firstSteps: FirstSteps
  bySecondFactor: ByCode
  byPasskey: ByPasskey
  byEnrolment: ByEnrolment
}

/** Signs in the user of an account that was just created. Undefined if it was disabled or deleted meanwhile. */
const createByNewAccount =
  ({ events, newSessions, firstSteps }: Dependencies) =>
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
  ({ events, newSessions, firstSteps }: Dependencies) =>
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
  ({ events, newSessions, firstSteps }: Dependencies) =>
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
export const createSignIns = (deps: Dependencies) => {
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
