import type { SecondFactorMethod } from '../../contract/factors.js'
import type { Language } from '../../contract/languages.js'
import { isRefused, refuse } from '../../contract/outcome.js'
import type { ProviderId } from '../../contract/providers.js'
import type { Clock } from '../../lib/clock.js'
import type { Database, Transaction } from '../../platform/database/database.js'
import type { Event, Events } from '../events/events.js'
import type { Factors } from '../factors/factors.js'
import type { TrustedDevices } from '../factors/trusted-devices.js'
import type { KnownDevices } from '../known-devices/known-devices.js'
import type { Mails } from '../mails/mails.js'
import type { Passkeys, ProvenPasskey } from '../passkeys/passkeys.js'
import type { Identities } from '../providers/identities.js'
import type { Client } from '../sessions/client.js'
import type { FirstProof, Sessions, SignedInUser } from '../sessions/sessions.js'
import type { Identity, User, Users } from '../users/users.js'
import type { Begun, Challenge, Challenges } from './challenges.js'
import { createStart, type Started } from './start.js'

/** A browser that signs in: what it knows from earlier sign-ins, and the language of mails about it. */
export type Visit = {
  client: Client
  trustedDevices: readonly string[]
  /** Undefined if the browser has not sent this cookie, although it may have one. */
  knownDevices: readonly string[] | undefined
  language: Language
}

/** Where a first proof leads: to a session, or to a challenge for the second proof. */
export type Entry = { issued: Started } | { challenge: string; methods: SecondFactorMethod[] }

type Dependencies = {
  database: Database
  sessions: Sessions
  users: Pick<Users, 'lock' | 'noteFirstSignIn'>
  mails: Pick<Mails, 'queue'>
  events: Pick<Events, 'record'>
  factors: Factors
  knownDevices: KnownDevices
  trustedDevices: TrustedDevices
  passkeys: Pick<Passkeys, 'accept' | 'countUsable'>
  challenges: Challenges
  identities: Pick<Identities, 'write'>
  clock: Clock
}
type ByProvider = {
  provider: ProviderId
  first: 'registered' | 'provider_linked' | undefined
  link?: Identity | undefined
}
type SecondProof = { token: string; code: string; trustDevice: boolean }

export type SignIns = ReturnType<typeof createSignIns>

/**
 * Every way to sign in ends here, and nothing else may begin a session (`scripts/architecture` enforces it). The event's
 * `sessionBegan` is the one sign of it, whatever kind of event a user reads.
 */
export const createSignIns = (deps: Dependencies) => {
  const { database, events, factors, trustedDevices, knownDevices, passkeys, users, challenges, identities } = deps
  const start = createStart(deps)

  /** What finishes a challenge of this user, the best first. */
  const methodsOf = async (userId: string): Promise<SecondFactorMethod[]> => {
    const codes = await factors.methodsOf(userId)
    return (await passkeys.countUsable(userId)) > 0 ? ['passkey', ...codes] : codes
  }

  const began = async (
    issued: Started,
    client: Client,
    event: Pick<Event, 'kind' | 'provider' | 'reason' | 'sessionBegan'>,
  ) => {
    await events.record({ ...event, userId: issued.user.id, sessionId: issued.sessionId }, client)
    return issued
  }

  /** A link that waited is written together with the session: the user's row is locked, and both are there or none. */
  const beginWithLink = (sql: Transaction, user: User, proof: FirstProof, link: Identity, visit: Visit) =>
    identities
      .write(sql, user, link, visit.language)
      .then((linked) => (linked ? start(sql, user, proof, visit) : undefined))

  const begin = (sql: Transaction, user: User, proof: FirstProof, link: Identity | undefined, visit: Visit) =>
    link ? beginWithLink(sql, user, proof, link, visit) : start(sql, user, proof, visit)

  /**
   * Decides: a session, or a challenge. The insert of the session is the check: it inserts none if the account needs a second
   * proof, also if that was switched on a moment ago. Undefined if the account has changed since its first proof.
   */
  const enter = async (
    user: User,
    proof: FirstProof,
    begun: Omit<Begun, 'userId'>,
    visit: Visit,
  ): Promise<Entry | undefined> => {
    const issued = begun.link ? undefined : await database.transaction((sql) => start(sql, user, proof, visit))
    if (issued) return { issued }
    if (!(await factors.hasTotp(user.id))) return undefined
    const trustedDevice = await trustedDevices.find(user.id, visit.trustedDevices)
    if (trustedDevice !== undefined) {
      const trusted = await database.transaction((sql) =>
        begin(sql, user, { ...proof, trustedDevice }, begun.link, visit),
      )
      return trusted && { issued: trusted }
    }
    const challenge = await challenges.begin({ ...begun, userId: user.id })
    return challenge === undefined ? undefined : { challenge, methods: await methodsOf(user.id) }
  }

  const beganByProvider = async (issued: Started, { provider, first }: ByProvider, client: Client) => {
    const { sessionId, user } = issued
    if (first) await events.record({ kind: first, userId: user.id, sessionId, provider }, client)
    return began(issued, client, { kind: 'signed_in', provider, sessionBegan: provider })
  }

  /** One transaction: the code is used up, the challenge is gone, the link is written and the session begins, or nothing of it. */
  const finish = (challenge: Challenge, { token, code, trustDevice }: SecondProof, visit: Visit) => {
    const { userId, method, provider, link } = challenge
    const { client, language } = visit
    const device = knownDevices.find(userId, visit.knownDevices ?? [])
    return factors.prove({ userId, code, client, device, language }, async (sql, user, accept, second) => {
      if (!(await challenges.lock(sql, token))) return refuse('challenge_over')
      if (!(await accept())) return refuse('wrong_second_factor')
      await challenges.remove(sql, token)
      const issued = await begin(sql, user, { methods: [method, second], provider }, link, visit)
      if (!issued) return refuse('challenge_over')
      const trusts = trustDevice && second === 'otp'
      return { issued, trustedDevices: trusts ? await trustedDevices.add(sql, userId, visit) : undefined }
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
        await began(entry.issued, visit.client, { kind: 'signed_in', reason: 'password', sessionBegan: 'password' })
      return entry
    },

    /** The user has just proven the email address of the new account, and chosen or entered its password. */
    byRegistration: async (user: SignedInUser, visit: Visit) => {
      // The account was made a moment ago: it has no second factor.
      const issued = await database.transaction((sql) => start(sql, user, { methods: ['pwd'] }, visit))
      if (!issued) throw new Error('The user was disabled or deleted while signing in')
      return began(issued, visit.client, { kind: 'registered', sessionBegan: 'registration' })
    },

    /** `first` is what the sign-in did to the account before; `link` is what it does together with the session. */
    byProvider: async (user: User, how: ByProvider, visit: Visit) => {
      const { provider, link } = how
      const entry = await enter(user, { methods: ['provider'], provider }, { provider, link }, visit)
      if (!entry) throw new Error('The account changed while signing in')
      if ('issued' in entry) await beganByProvider(entry.issued, how, visit.client)
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
      await began(issued, client, { kind: 'signed_in', reason: 'passkey', sessionBegan: 'passkey' })
      return { issued, isChallengeOver: challenge !== undefined }
    },

    /** Finishes a challenge with a code of the app or a recovery code. */
    bySecondFactor: async (second: SecondProof, visit: Visit) => {
      const challenge = await challenges.reserveTry(second.token)
      if (!challenge) return refuse('challenge_over')
      const finished = await finish(challenge, second, visit)
      if (isRefused(finished)) {
        // The account waits: the code was not compared.
        if (finished.refused === 'too_many_codes') await challenges.giveBackTry(second.token)
        return finished
      }
      const { provider, link } = challenge
      const { client } = visit
      if (provider) {
        await beganByProvider(finished.issued, { provider, first: link && 'provider_linked' }, client)
      } else await began(finished.issued, client, { kind: 'signed_in', reason: 'password', sessionBegan: 'password' })
      return finished
    },

    /** What finishes the challenge of this browser, and until when; undefined if there is none. */
    challengeOf: async (token: string) => {
      const challenge = await challenges.find(token)
      if (!challenge) return undefined
      return { expiresAt: challenge.expiresAt, methods: await methodsOf(challenge.userId) }
    },
  }
}
