import { enrolmentMethods, type NextStep, type SecondFactorMethod } from '../../contract/factors.js'
import { isRefused, type Refused, refuse } from '../../contract/outcome.js'
import type { Clock } from '../../lib/clock.js'
import type { Database, Transaction } from '../../platform/database/database.js'
import type { AccountChanges, Changes } from '../accounts/account-changes.js'
import type { Events } from '../events/events.js'
import type { Factors } from '../factors/factors.js'
import type { TrustedDevices } from '../factors/trusted-devices.js'
import type { KnownDevices } from '../known-devices/known-devices.js'
import type { Mails } from '../mails/mails.js'
import type { Passkeys, ProvenPasskey } from '../passkeys/passkeys.js'
import type { Identities } from '../providers/identities.js'
import type { Client } from '../sessions/client.js'
import { neverProven } from '../sessions/proof.js'
import type { FirstProof, Sessions } from '../sessions/sessions.js'
import type { Identity, User, Users } from '../users/users.js'
import type { Begun, Challenge, Challenges } from './challenges.js'
import type { Enrolments } from './enrolments.js'
import { createNextSteps } from './next-steps.js'
import { createSessionStart } from './session-start.js'
import type { Started } from './start.js'

/** A browser that signs in: and what it knows from earlier sign-ins. */
export type Visit = {
  client: Client
  trustedDevices: readonly string[]
  /** Undefined if the browser has not sent this cookie, although it may have one. */
  knownDevices: readonly string[] | undefined
  /** The session whose refresh token the browser sent. It ends when another one begins in this browser. */
  earlierSession: { userId: string; sessionId: string } | undefined
}

/** Where a first proof leads: to a session, or to a challenge for what is still missing. */
export type Entry = { issued: Started } | { challenge: string; next: NextStep; methods: readonly SecondFactorMethod[] }

type Dependencies = {
  database: Database
  sessions: Sessions
  users: Pick<Users, 'findById' | 'lock' | 'lockLinked' | 'noteSignIn'>
  mails: Pick<Mails, 'queue'>
  events: Pick<Events, 'record'>
  accountChanges: Pick<AccountChanges, 'bySignIn'>
  factors: Factors
  knownDevices: KnownDevices
  trustedDevices: TrustedDevices
  passkeys: Pick<Passkeys, 'accept' | 'countUsable'>
  challenges: Challenges
  enrolments: Enrolments
  /** Whether every session needs a second factor, also of an account that has none. */
  required: boolean
  identities: Pick<Identities, 'linkByAddress'>
  clock: Clock
}
/** `provenAt` is when the user last proved it there, if the provider says so. */
type ByProvider = {
  identity: Identity
  provenAt: Date | undefined
  first: 'registered' | 'provider_linked' | undefined
  isLinkWaiting: boolean
}
/** What a challenge keeps of the first proof, and the identity that must still be linked. */
type FirstStep = Omit<Begun, 'user' | 'kind' | 'client'> & { identity?: Identity | undefined }
type SecondProof = { token: string; code: string; trustDevice: boolean }

/** Rolls a transaction back: a factor must not stay without the session, or its recovery codes would never be shown. */
class Undone extends Error {
  override name = 'Undone'
}

const orUndone = <Result>(work: Promise<Result>) =>
  work.catch((error: unknown) => {
    if (error instanceof Undone) return refuse('challenge_over')
    throw error
  })

/** The browser needs no code from now on, and the owner is told. */
const createTrust =
  ({ trustedDevices, mails }: Pick<Dependencies, 'trustedDevices' | 'mails'>) =>
  async (sql: Transaction, { id: userId, email: to, username }: User, visit: Visit) => {
    const added = await trustedDevices.add(sql, userId, visit)
    const mail = { to, userId, template: 'device-trusted', values: { username }, client: visit.client } as const
    if (added) await mails.queue(sql, mail)
    return added
  }

export type SignIns = ReturnType<typeof createSignIns>

/**
 * Every way to sign in ends here, and nothing else may begin a session (`scripts/architecture` enforces it). The event's
 * `sessionBegan` is the one sign of it, whatever kind of event a user reads.
 */
export const createSignIns = (deps: Dependencies) => {
  const { database, events, factors, trustedDevices, knownDevices, passkeys, users, challenges, enrolments } = deps
  const { start, began, begin, beginWithLink, beganByProvider, beganByChallenge } = createSessionStart(deps)
  const trust = createTrust(deps)
  const { methodsOf, nextFor, hasFactor } = createNextSteps(deps)

  /** One transaction; nothing is done in it if the identity of the sign-in was unlinked since it was found. */
  const whileLinked = <Result>(
    { id }: User,
    { identity }: FirstStep,
    work: (sql: Transaction) => Promise<Result>,
  ): Promise<Result | undefined> =>
    database.transaction(async (sql) =>
      identity && !(await users.lockLinked(sql, id, identity)) ? undefined : work(sql),
    )

  /**
   * Decides: a session, or a challenge. The insert of the session is the check: it inserts none if a second proof is needed,
   * also if that was switched on a moment ago. Undefined if the account has changed since its first proof.
   */
  const enter = async (user: User, proof: FirstProof, begun: FirstStep, visit: Visit): Promise<Entry | undefined> => {
    const issued = begun.link ? undefined : await whileLinked(user, begun, (sql) => start(sql, user, proof, visit))
    if (issued) return { issued }
    const step = await nextFor(user.id)
    if (!step) return undefined
    const { allowsTrustedDevice, next, methods } = step
    const trustedDevice = allowsTrustedDevice ? await trustedDevices.find(user.id, visit.trustedDevices) : undefined
    if (trustedDevice !== undefined) {
      const trusted = await whileLinked(user, begun, (sql) =>
        begin(sql, user, { ...proof, trustedDevice }, begun.link, visit),
      )
      return trusted && { issued: trusted }
    }
    const challenge = await whileLinked(user, begun, (sql) =>
      challenges.begin(sql, { ...begun, user, kind: next, client: visit.client }),
    )
    if (challenge === undefined) return undefined
    const reason = `${begun.provider ?? 'password'}${next === 'enrolment' ? ' enrolment' : ''}`
    await events.record({ kind: 'second_factor_asked', userId: user.id, reason }, visit.client)
    return { challenge, next, methods }
  }

  /** One transaction: the code is used up, the challenge is gone, the link is written and the session begins, or nothing of it. */
  const finish = async (challenge: Challenge, { token, code, trustDevice }: SecondProof, visit: Visit) => {
    const { userId, method, provider, link } = challenge
    const { client } = visit
    const known = visit.knownDevices?.length ? await users.findById(userId) : undefined
    const device = known && knownDevices.find(known, visit.knownDevices ?? [])
    return factors.prove({ userId, code, client, device }, async (sql, user, accept, second) => {
      if (!(await challenges.lock(sql, token))) return refuse('challenge_over')
      if (!(await accept())) return refuse('wrong_second_factor')
      await challenges.remove(sql, token)
      const issued = await begin(sql, user, { methods: [method, second], provider }, link, visit)
      if (!issued) return refuse('challenge_over')
      return { issued, trustedDevices: trustDevice && second === 'otp' ? await trust(sql, user, visit) : undefined }
    })
  }

  /** The waiting sign-in of this browser, if it is one of this user. It is over then. */
  const takeChallenge = async (sql: Transaction, token: string | undefined, userId: string) => {
    if (token === undefined || !(await challenges.lock(sql, token))) return undefined
    const challenge = await challenges.find(token, sql)
    if (challenge?.userId !== userId) return undefined
    await challenges.remove(sql, token)
    return challenge
  }

  /** One transaction: the use of the passkey is written down and the session begins, or nothing of it. */
  const enterByPasskey = (proven: ProvenPasskey, token: string | undefined, visit: Visit) =>
    database.transaction(async (sql) => {
      const user = await users.lock(sql, proven.userId)
      if (!user || user.disabled || !(await passkeys.accept(sql, proven))) return undefined
      const challenge = await takeChallenge(sql, token, user.id)
      const proof: FirstProof = {
        methods: challenge ? [challenge.method, 'passkey'] : ['passkey'],
        provider: challenge?.provider,
      }
      const linked = challenge?.link && (await beginWithLink(sql, user, proof, challenge.link, visit))
      const issued = linked ?? (await start(sql, user, proof, visit))
      return issued && { issued, challenge, isLinked: linked !== undefined }
    })

  return {
    /** Undefined if the password has changed since it was checked, or the user was disabled in the meantime. */
    byPassword: async (user: User, passwordHash: string, visit: Visit) => {
      const entry = await enter(user, { methods: ['pwd'], passwordHash }, { passwordHash }, visit)
      if (entry && 'issued' in entry)
        await began(entry.issued, visit, { kind: 'signed_in', reason: 'password', sessionBegan: 'password' })
      return entry
    },

    /**
     * The user has just proven the email address of the new account, and chosen or entered its password. Undefined if the account
     * was disabled or deleted in the meantime.
     */
    byRegistration: async (user: User, visit: Visit) => {
      const entry = await enter(user, { methods: ['pwd'] }, {}, visit)
      if (!entry) return undefined
      if ('issued' in entry) await began(entry.issued, visit, { kind: 'registered', sessionBegan: 'registration' })
      else await events.record({ kind: 'registered', userId: user.id }, visit.client)
      return entry
    },

    /** `first` is what the sign-in did to the account before; a link that waits is written together with the session. */
    byProvider: async (user: User, { identity, provenAt, first, isLinkWaiting }: ByProvider, visit: Visit) => {
      const { provider } = identity
      const step = isLinkWaiting ? { provider, link: identity } : { provider, identity }
      // Only what the provider says counts: it may have sent the browser back without asking the user anything.
      const proof: FirstProof = { methods: ['provider'], provider, provenAt: provenAt ?? neverProven }
      const entry = await enter(user, proof, step, visit)
      if (!entry) throw new Error('The account changed while signing in')
      if ('issued' in entry) await beganByProvider(entry.issued, { provider, first }, visit)
      // The account is there already. A link is written later, with the session.
      else if (first === 'registered')
        await events.record({ kind: 'registered', userId: user.id, provider }, visit.client)
      return entry
    },

    /**
     * A passkey is two factors by itself. It also finishes the challenge `token` of its user. Undefined if the user is disabled or
     * gone, or the passkey was removed or copied.
     */
    byPasskey: async (proven: ProvenPasskey, token: string | undefined, visit: Visit) => {
      const entered = await enterByPasskey(proven, token, visit)
      if (!entered) return undefined
      const { issued, challenge, isLinked } = entered
      const { client } = visit
      if (challenge?.provider && isLinked)
        await events.record(
          {
            kind: 'provider_linked',
            userId: proven.userId,
            sessionId: issued.sessionId,
            provider: challenge.provider,
          },
          client,
        )
      await began(issued, visit, { kind: 'signed_in', reason: 'passkey', sessionBegan: 'passkey' })
      return { issued, isChallengeOver: challenge !== undefined }
    },

    /** Finishes a challenge with a code of the app or a recovery code. */
    bySecondFactor: async (second: SecondProof, visit: Visit) => {
      const challenge = await challenges.reserveTry(second.token)
      if (!challenge) return refuse('challenge_over')
      if (challenge.kind === 'enrolment') {
        await challenges.giveBackTry(second.token)
        return refuse(challenge.mailProven ? 'no_totp_begun' : 'mailed_code_required')
      }
      const finished = await finish(challenge, second, visit)
      if (isRefused(finished)) {
        // The account waits: the code was not compared.
        if (finished.refused === 'too_many_codes') await challenges.giveBackTry(second.token)
        return finished
      }
      await beganByChallenge(finished.issued, challenge, visit)
      return finished
    },

    /**
     * Adds the first factor of an account and begins its session, in one transaction: the user's row is locked, and both
     * happen or none. `add` gets the id of the sign-in, which what it confirms is bound to.
     */
    byEnrolment: async <Added, Code extends string>(
      { token, second }: { token: string; second: 'otp' | 'passkey' },
      visit: Visit,
      add: (
        sql: Transaction,
        user: User,
        challengeId: string,
      ) => Promise<{ result: Added; changes: Changes<'totp_added' | 'passkey_added'> } | Refused<Code>>,
    ) => {
      const open = await enrolments.findOpen(token)
      if (isRefused(open)) return open
      const { challenge } = open
      const finished = await orUndone(
        database.transaction(async (sql) => {
          const user = await users.lock(sql, challenge.userId)
          if (!user || user.disabled || !(await challenges.lock(sql, token))) return refuse('challenge_over')
          // Added in another browser just before this sign-in began to wait.
          if (await hasFactor(user.id, sql)) return refuse('challenge_over')
          const added = await add(sql, user, challenge.id)
          if ('refused' in added) return added
          await challenges.remove(sql, token)
          const { method, provider, link } = challenge
          const issued = await begin(sql, user, { methods: [method, second], provider }, link, visit)
          if (!issued) throw new Undone()
          const caller = { userId: user.id, sessionId: issued.sessionId, generation: 0 }
          await deps.accountChanges.bySignIn(sql, { user, client: visit.client, caller }, added.changes)
          return { issued, added: added.result }
        }),
      )
      if ('issued' in finished) await beganByChallenge(finished.issued, challenge, visit)
      return finished
    },

    /** Whether a first proof is not enough for this account: then a link to it is written together with the session. */
    needsMore: async (userId: string, sql: Transaction) => (await nextFor(userId, sql)) !== undefined,

    /** What the sign-in of this browser still needs, and until when; undefined if there is none. */
    challengeOf: async (token: string) => {
      const challenge = await challenges.find(token)
      if (!challenge) return undefined
      const { kind: next, userId, expiresAt, mailProven } = challenge
      const isEnrolment = next === 'enrolment'
      const methods = isEnrolment ? [...enrolmentMethods] : await methodsOf(userId)
      return { next, methods, expiresAt, mailedCodeRequired: isEnrolment && !mailProven }
    },
  }
}
