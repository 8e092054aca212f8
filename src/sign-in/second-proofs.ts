import type { AccountChanges, Changes } from '../account-changes/account-changes.js'
import type { AmrMethod } from '../contract/factors.js'
import { isRefused, type Refused, refuse } from '../contract/outcome.js'
import type { Passkeys, ProvenPasskey } from '../factors/passkeys.js'
import type { Factors, NextSteps } from '../factors/second-factors.js'
import type { TrustedDevices } from '../factors/trusted-devices.js'
import { waysToSignIn } from '../factors/ways-to-sign-in.js'
import { commitUnlessRefused, type Database, type Transaction } from '../platform/database/database.js'
import type { Identities } from '../providers/identities.js'
import type { KnownDevices } from '../sessions/known-devices.js'
import type { InitialProof } from '../sessions/sessions.js'
import type { User, Users } from '../users/users.js'
import type { Enrolments } from './enrolments.js'
import { callerOf, type NewSessions, type SignInOutcome } from './new-sessions.js'
import type { Challenge, Challenges } from './pending-sign-ins.js'
import type { Visit } from './sign-ins.js'

type SecondProof = { token: string; code: string; trustDevice: boolean }

/** Both proofs of a sign-in that waited. */
const bothProofs = ({ by }: Challenge, secondMethod: AmrMethod): InitialProof => ({
  methods: [waysToSignIn[by.way].method, secondMethod],
  provider: by.provider,
})

type TrustDependencies = { trustedDevices: TrustedDevices; accountChanges: AccountChanges }

/** Trusts the browser, so that it needs no code from now on, and tells the owner. */
const createTrust =
  ({ trustedDevices, accountChanges }: TrustDependencies) =>
  async (sql: Transaction, user: User, visit: Visit) => {
    const newTokens = await trustedDevices.add(sql, user.id, visit)
    if (newTokens) await accountChanges.bySignIn(sql, { user, client: visit.client }, { device_trusted: {} })
    return newTokens
  }

type CodeDependencies = TrustDependencies & {
  users: Users
  factors: Factors
  knownDevices: KnownDevices
  challenges: Challenges
  enrolments: Enrolments
  newSessions: NewSessions
}

export type ByCode = ReturnType<typeof createByCode>

/** Finishes a challenge with a code of the app or a recovery code. */
export const createByCode = (deps: CodeDependencies) => {
  const { users, factors, knownDevices, challenges, enrolments, newSessions } = deps
  const trust = createTrust(deps)

  /**
   * In one transaction, the code is used up, the challenge is removed, the link is written and the session begins. If one of them fails,
   * none happens.
   */
  const finish = async (challenge: Challenge, { token, code, trustDevice }: SecondProof, visit: Visit) => {
    const { userId, link } = challenge
    const { client } = visit
    const user = visit.knownDevices?.length ? await users.findById(userId) : undefined
    const device = user && knownDevices.find(user, visit.knownDevices ?? [])
    return factors.prove({ userId, code, client, device }, async (sql, owner, accept, method) => {
      if (!(await challenges.lock(sql, token))) return refuse('challenge_over')
      if (!(await accept())) return refuse('wrong_second_factor')
      const signIn = { by: challenge.by, proof: bothProofs(challenge, method), token }
      const outcome = await newSessions.beginWithLink(sql, owner, signIn, link, visit)
      if (!outcome) return refuse('challenge_over')
      return { outcome, trustedDevices: trustDevice && method === 'otp' ? await trust(sql, owner, visit) : undefined }
    })
  }

  return async (secondProof: SecondProof, visit: Visit) => {
    const challenge = await challenges.reserveTry(secondProof.token)
    if (!challenge) return refuse('challenge_over')
    if (challenge.kind !== 'second_factor') {
      await challenges.giveBackTry(secondProof.token)
      if (challenge.kind !== 'enrolment') return refuse('other_step')
      const missing = await enrolments.missingProofOf(challenge)
      if (missing === 'link') return refuse('link_required')
      return refuse(missing === 'mailed code' ? 'mailed_code_required' : 'no_totp_begun')
    }
    const finished = await finish(challenge, secondProof, visit)
    if (isRefused(finished)) {
      // There were too many wrong codes before, so this code was not compared.
      if (finished.refused === 'too_many_codes') await challenges.giveBackTry(secondProof.token)
      return finished
    }
    await newSessions.record(finished.outcome, challenge.by, visit)
    return finished
  }
}

type PasskeyDependencies = {
  database: Database
  users: Users
  passkeys: Passkeys
  identities: Identities
  challenges: Challenges
  newSessions: NewSessions
}

export type ByPasskey = ReturnType<typeof createByPasskey>

/**
 * Signs in with a passkey, which is two factors by itself. It also finishes the challenge of its user that waits in this browser. Undefined
 * if the user is disabled or gone, or the passkey was removed or copied.
 */
export const createByPasskey = (deps: PasskeyDependencies) => {
  const { database, users, passkeys, identities, challenges, newSessions } = deps

  /** The waiting sign-in of this browser, if it belongs to this user. It goes on with the passkey. */
  const lockChallenge = async (sql: Transaction, token: string | undefined, userId: string) => {
    if (token === undefined || !(await challenges.lock(sql, token))) return undefined
    const challenge = await challenges.find(sql, token)
    return challenge?.userId === userId ? { ...challenge, token } : undefined
  }

  /** In one transaction, the use of the passkey is stored and the session begins. If one of them fails, neither happens. */
  const enter = (provenPasskey: ProvenPasskey, token: string | undefined, visit: Visit) =>
    commitUnlessRefused(database, async (sql) => {
      const user = await users.lockEnabled(sql, provenPasskey.userId)
      if (!user || !(await passkeys.accept(sql, provenPasskey))) return refuse('no_session')
      const challenge = await lockChallenge(sql, token, user.id)
      // If the proofs are not complete yet, the passkey is the second factor.
      const isSecondFactor = challenge !== undefined && challenge.proof === undefined
      const proof = isSecondFactor ? bothProofs(challenge, 'passkey') : { methods: ['passkey'] as const }
      const linkChanges = challenge?.link && (await identities.linkByAddress(sql, user, challenge.link))
      const signIn = { by: { way: 'passkey' } as const, proof, token: challenge?.token }
      const outcome = await newSessions.begin(sql, user, signIn, visit, linkChanges)
      return outcome ? { outcome, challenge } : refuse('no_session')
    })

  return async (provenPasskey: ProvenPasskey, token: string | undefined, visit: Visit) => {
    const result = await enter(provenPasskey, token, visit)
    if (isRefused(result)) return undefined
    const { outcome, challenge } = result
    await newSessions.record(outcome, { way: 'passkey' }, visit)
    return { outcome, hadChallenge: challenge !== undefined }
  }
}

type EnrolmentDependencies = {
  database: Database
  users: Users
  accountChanges: AccountChanges
  challenges: Challenges
  enrolments: Enrolments
  nextSteps: NextSteps
  newSessions: NewSessions
}

export type ByEnrolment = ReturnType<typeof createByEnrolment>

/**
 * Adds an app or the first passkey to an account without a factor, at the sign-in that needs one, and begins the session. One transaction
 * locks the user's row, and both happen or neither. `add` gets the id of the challenge, to which the new factor is bound.
 */
export const createByEnrolment = (deps: EnrolmentDependencies) => {
  const { database, users, accountChanges, challenges, enrolments, nextSteps, newSessions } = deps

  return async <Added, Code extends string>(
    { token, second }: { token: string; second: 'otp' | 'passkey' },
    visit: Visit,
    add: (
      sql: Transaction,
      user: User,
      challengeId: string,
    ) => Promise<{ result: Added; changes: Changes<'totp_added' | 'passkey_added'> } | Refused<Code>>,
  ) => {
    const enrolment = await enrolments.findOpen(token)
    if (isRefused(enrolment)) return enrolment
    const { challenge } = enrolment
    const finished = await commitUnlessRefused(database, async (sql) => {
      const user = await users.lockEnabled(sql, challenge.userId)
      if (!user || !(await challenges.lock(sql, token))) return refuse('challenge_over')
      // This happens if the account got a factor in another browser just before this sign-in began to wait.
      if (await nextSteps.hasFactor(sql, user.id)) return refuse('challenge_over')
      const added = await add(sql, user, challenge.id)
      if ('refused' in added) return added
      // A new factor voids the sign-ins that wait, including this one. If a last step is left, this sign-in begins to wait again, without
      // its token.
      const hasLastStep = await newSessions.hasLastStep(sql, user)
      if (hasLastStep) await accountChanges.bySignIn(sql, { user, client: visit.client }, added.changes)
      const signIn = {
        by: challenge.by,
        proof: bothProofs(challenge, second),
        token: hasLastStep ? undefined : token,
      }
      const outcome: SignInOutcome | undefined = await newSessions.beginWithLink(
        sql,
        user,
        signIn,
        challenge.link,
        visit,
      )
      // If the sign-in cannot go on, the factor must not stay, because its recovery codes would never be shown.
      if (!outcome) return refuse('challenge_over')
      if ('issued' in outcome) {
        const caller = callerOf(outcome.issued)
        await accountChanges.bySignIn(sql, { user, client: visit.client, caller }, added.changes)
      }
      return { outcome, added: added.result }
    })
    if ('outcome' in finished) await newSessions.record(finished.outcome, challenge.by, visit)
    return finished
  }
}
