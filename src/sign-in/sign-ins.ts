import type { OpenQuestion, ProofStep } from '../contract/factors.js'
import { isRefused, refuse } from '../contract/outcome.js'
import type { ProvenPasskey } from '../factors/passkeys.js'
import {
  type FirstBy,
  freshSinceOf,
  labelOf,
  provesMail,
  skipsOnTrustedDevice,
  waitingWayOf,
  waysToSignIn,
} from '../factors/ways-to-sign-in.js'
import { commitUnlessRefused, type Transaction } from '../platform/database/database.js'
import type { Browser, SessionFacts, Visit } from '../sessions/session-facts.js'
import type { Identity, User } from '../users/users.js'
import type { RegisteredWith, SignInOutcome } from './new-sessions.js'
import type { Answers } from './open-questions.js'
import { type AddFactor, byAnswer, byCode, byEnrolment, byPasskey, type SignInParts } from './second-proofs.js'

/** Uses a proof up in the transaction of what follows, which holds the user from then on. Undefined if it was used before. */
type Claim = (sql: Transaction) => Promise<User | undefined>

/** `claim` uses the mail up. */
type ByMail = { claim?: Claim; isNew: boolean }

/** `provenAt`: when the user last signed in at the provider, if the provider says so. */
type ByProvider = {
  identity: Identity
  provenAt: Date | undefined
  /** Whether the sign-in has created the account. */
  isNew: boolean
  isLinkWaiting: boolean
}

/** A link that waits is written together with the session. */
const byProvider = async (
  parts: SignInParts,
  user: User,
  { identity, provenAt, isNew, isLinkWaiting }: ByProvider,
  visit: Visit,
) => {
  const { provider } = identity
  const by = { way: 'provider', provider } as const
  const identityOrLink = isLinkWaiting ? { link: identity } : { identity }
  const registered = isNew ? { provider } : undefined
  const outcome = await enter(parts, user, { by, provenAt, registered, ...identityOrLink }, visit)
  if (!outcome) throw new Error('The account changed while signing in')
  return outcome
}

/** Undefined if the account that was just created was disabled or deleted meanwhile. */
const byNewAccount = async (parts: SignInParts, user: User, way: 'registration' | 'setup', visit: Visit) => {
  const by = { way }
  const outcome = await enter(parts, user, { by }, visit)
  if (!outcome) return undefined
  // The event of the session says it, too.
  const registered = { kind: 'registered', userId: user.id, ...(way === 'setup' && { reason: way }) } as const
  if (!('issued' in outcome)) await parts.events.record(registered, visit.client)
  return outcome
}

export type SignIns = ReturnType<typeof createSignIns>

/**
 * Every way to sign in ends here, and nothing else may begin a session (oxlint enforces it). Whatever the kind of an event,
 * only `sessionBeganBy` says that a session began with it.
 */
export const createSignIns = (parts: SignInParts) => {
  const { users, factors, questions } = parts

  return {
    /** Undefined if the password has changed since it was checked, or the user was disabled meanwhile. */
    byPassword: (user: User, passwordHash: string, visit: Visit) =>
      enter(parts, user, { by: { way: 'password' }, passwordHash }, visit),

    /**
     * The user has just chosen this password with a mailed link. If the account has a second step, it is still asked for. Undefined if
     * the password was changed again, or the account was disabled, meanwhile.
     */
    byReset: (user: User, passwordHash: string, visit: Visit) =>
      enter(parts, user, { by: { way: 'reset' }, passwordHash }, visit),

    /** The user has just proven the email address of the new account, and chosen or entered its password. */
    byRegistration: (user: User, visit: Visit) => byNewAccount(parts, user, 'registration', visit),

    /** The user has just made the first account with the link of the setup, and has chosen its password. */
    bySetup: (user: User, visit: Visit) => byNewAccount(parts, user, 'setup', visit),

    byProvider: (user: User, given: ByProvider, visit: Visit) => byProvider(parts, user, given, visit),

    /** Undefined if the mail was used or voided meanwhile, or the user was disabled. */
    byMail: async (user: User, { claim, isNew }: ByMail, visit: Visit) => {
      const way = 'mail'
      const registered = isNew ? ({ reason: way } as const) : undefined
      return enter(parts, user, { by: { way }, registered, ...(claim && { claim }) }, visit)
    },

    byPasskey: (proven: ProvenPasskey, token: string | undefined, visit: Visit) =>
      byPasskey(parts, proven, token, visit),

    bySecondFactor: (secondProof: { token: string; code: string; trustDevice: boolean }, browser: Browser) =>
      byCode(parts, secondProof, browser),

    byEnrolment: <Added, Code extends string>(
      enrolment: { token: string; second: 'otp' | 'passkey' },
      browser: Browser,
      add: AddFactor<Added, Code>,
    ) => byEnrolment(parts, enrolment, browser, add),

    byAnswer: <Question extends OpenQuestion>(
      token: string,
      question: Question,
      given: Answers[Question],
      browser: Browser,
    ) => byAnswer(parts, token, question, given, browser),

    /** Whether a first proof is not enough for this account. Then a link to it is written together with the session. */
    needsSecondStep: async (sql: Transaction, userId: string) => (await factors.nextStepFor(sql, userId)) !== undefined,

    /** The fields that a sign-in of this user is asked for. */
    fieldsOf: async (userId: string) => {
      const user = await users.findEnabled(userId)
      return user ? questions.fieldsFor(user) : []
    },
  }
}

/**
 * A first proof. `identity` is the linked identity at a provider, which counts only if it was not unlinked meanwhile. `link` is an identity
 * that is linked together with the session. `provenAt` is when the user last gave the proof at the provider, if the provider says so.
 */
type FirstProof = {
  by: FirstBy
  passwordHash?: string
  identity?: Identity
  link?: Identity
  provenAt?: Date | undefined
  claim?: Claim
  registered?: RegisteredWith | undefined
}

/** The facts after a first proof. */
const withFirstProof = (facts: SessionFacts, { by, provenAt }: FirstProof): SessionFacts => ({
  ...facts,
  methods: [waysToSignIn[by.way].method],
  provider: by.provider ?? null,
  freshSince: freshSinceOf(by.way, provenAt),
})

/**
 * Runs `work` in one transaction. Undefined, with nothing written, if `work` returns nothing or the first proof does not count any more.
 */
const ifStillProven = async <Result extends SignInOutcome | string>(
  { database, users }: SignInParts,
  user: User,
  { identity, claim }: FirstProof,
  work: (sql: Transaction, user: User, isHeld: boolean) => Promise<Result | undefined>,
) => {
  const result = await commitUnlessRefused(database, async (sql) => {
    if (identity && !(await users.lockLinked(sql, user.id, identity))) return refuse('not_linked')
    const held = await claim?.(sql)
    if (claim && !held) return refuse('account_changed')
    return (await work(sql, held ?? user, held !== undefined)) ?? refuse('account_changed')
  })
  return isRefused(result) ? undefined : result
}

/** Lets the sign-in wait for its second proof, or for an enrolment, and returns its token. */
const beginWaiting = async (
  parts: SignInParts,
  user: User,
  first: FirstProof,
  kind: ProofStep,
  { facts, client }: Visit,
) => {
  const by = waitingWayOf(first.by)
  const { passwordHash = null, link } = first
  const waiting = { user, kind, by, facts, passwordHash, link, isOpened: provesMail(first.by), client }
  const reason = `${labelOf(by)}${kind === 'enrolment' ? ' enrolment' : ''}`
  return ifStillProven(parts, user, first, async (sql) => {
    const pending = await parts.pendingSignIns.begin(sql, waiting)
    if (pending === undefined) return undefined
    await parts.events.recordInside(sql, { kind: 'second_factor_asked', userId: user.id, reason }, client)
    return pending
  })
}

/**
 * Begins a session, or lets the sign-in wait. The insert of the session is the check: nothing is inserted if a second proof is needed, even
 * if that was switched on a moment ago. Undefined if the account has changed since its first proof.
 */
const beginOrWait = async (
  parts: SignInParts,
  user: User,
  first: FirstProof,
  { facts: factsBefore, ...browser }: Visit,
): Promise<SignInOutcome | undefined> => {
  const { newSessions, factors, trustedDevices } = parts
  const { by, link, passwordHash = null, registered } = first
  const facts = withFirstProof(factsBefore, first)
  const signIn = { by, facts, passwordHash, registered }
  const outcome = link
    ? undefined
    : await ifStillProven(parts, user, first, (sql, owner, isHeld) =>
        newSessions.begin(sql, owner, { ...signIn, isHeld }, browser),
      )
  if (outcome) return outcome
  const nextStep = await factors.nextStepFor(user.id)
  if (!nextStep) return undefined
  const { allowsTrustedDevice, next, methods } = nextStep
  const mayUseTrustedDevice = allowsTrustedDevice && skipsOnTrustedDevice(by)
  const trustedDevice = mayUseTrustedDevice ? await trustedDevices.find(user.id, browser.trustedDevices) : undefined
  if (trustedDevice !== undefined) {
    const trusted = { ...signIn, facts: { ...facts, trustedDevice } }
    return ifStillProven(parts, user, first, (sql, owner, isHeld) =>
      newSessions.beginWithLink(sql, owner, { ...trusted, isHeld }, link, browser),
    )
  }
  const pending = await beginWaiting(parts, user, first, next, { ...browser, facts })
  return pending === undefined ? undefined : { pending, next, methods }
}

/** What follows a first proof. An account that was just created exists also if its first session has to wait. */
const enter = async (parts: SignInParts, user: User, first: FirstProof, visit: Visit) => {
  const outcome = await beginOrWait(parts, user, first, visit)
  if (!outcome) return undefined
  const { registered } = first
  if (registered && !('issued' in outcome))
    await parts.events.record({ kind: 'registered', userId: user.id, ...registered }, visit.client)
  await parts.newSessions.endEarlier(outcome, visit)
  return outcome
}
