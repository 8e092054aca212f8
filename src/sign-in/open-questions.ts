import type { AccountChanges, Changes, FieldChanges } from '../account-changes/account-changes.js'
import { countFactors, type LastStep, lastSteps } from '../contract/factors.js'
import { type Refused, refuse } from '../contract/outcome.js'
import type { ProfileFieldChanges, ProfileFieldDefinition } from '../contract/profile-fields.js'
import type { NextSteps } from '../factors/second-factors.js'
import { commitUnlessRefused, type Database, type Sql, type Transaction } from '../platform/database/database.js'
import type { InitialProof } from '../sessions/sessions.js'
import type { InvalidFieldsRefusal, ProfileFields } from '../users/profile-fields.js'
import type { Terms } from '../users/terms.js'
import type { User, Users } from '../users/users.js'
import type { NewSessions } from './new-sessions.js'
import type { Challenges } from './pending-sign-ins.js'
import type { Visit } from './sign-ins.js'

type LastStepsDependencies = {
  profileFields: ProfileFields
  fieldChanges: FieldChanges
  terms: Terms
  nextSteps: NextSteps
}

/**
 * The answer to each step. The answer to the terms is the version that the user has seen, because another instance may have asked for
 * another version.
 */
export type LastAnswer = { profile: ProfileFieldChanges; terms: string }
type AnswerResult =
  | { changes: Changes<'fields_changed' | 'terms_agreed'> }
  | InvalidFieldsRefusal
  | Refused<'terms_changed'>
type Step<Given> = {
  isOpen: (sql: Sql, user: User) => Promise<boolean>
  answer: (sql: Transaction, user: User, given: Given) => Promise<AnswerResult>
}

export type LastSteps = ReturnType<typeof createLastSteps>

/**
 * The questions to a user after every proof and before the session begins, however the user signs in. The users of running sessions are not
 * asked.
 */
export const createLastSteps = ({ profileFields, fieldChanges, terms, nextSteps }: LastStepsDependencies) => {
  /** Whether a provider has created the account, and no session has begun yet. Its user has not seen our registration form. */
  const isNewFromProvider = ({ provider, hasSignedIn }: User) => provider !== null && !hasSignedIn

  /** The fields that the step `profile` asks for. */
  const fieldsFor = (user: User): readonly ProfileFieldDefinition[] => {
    const missing = profileFields.missing(user.fields)
    if (!isNewFromProvider(user)) return missing
    const values = profileFields.knownValues(user.fields)
    const isAsked = ({ key, registration }: ProfileFieldDefinition) => registration && !Object.hasOwn(values, key)
    return profileFields.definitions.filter((each) => missing.includes(each) || isAsked(each))
  }

  const steps: { [Name in LastStep]: Step<LastAnswer[Name]> } = {
    profile: {
      isOpen: async (_, user) => fieldsFor(user).length > 0,
      answer: (sql, user, given) => {
        const missing = fieldsFor(user).filter(({ key, required }) => required && !Object.hasOwn(given, key))
        const unanswered = Object.fromEntries(missing.map(({ key }) => [key, null]))
        return fieldChanges.write({ ...given, ...unanswered }, 'user')(sql, user)
      },
    },
    terms: {
      isOpen: (sql, user) => terms.isAgreementMissing(sql, user.id),
      answer: async (sql, user, version) => {
        if (version !== terms.version) return refuse('terms_changed')
        await terms.agree(sql, user.id, version)
        return { changes: { terms_agreed: { event: { reason: version } } } }
      },
    },
  }

  return {
    fieldsFor,
    answer: <Name extends LastStep>(sql: Transaction, user: User, step: Name, given: LastAnswer[Name]) =>
      steps[step].answer(sql, user, given),
    /** Whether no proof is missing. The last steps come after all proofs. */
    hasAllProofs: async (sql: Transaction, { id }: User, { methods, trustedDevice }: InitialProof) =>
      trustedDevice !== undefined || countFactors(methods) === 2 || !(await nextSteps.nextFor(sql, id)),
    /** The first open step after the one that is done. So fields that may be left empty are asked for once. */
    nextFor: async (sql: Sql, user: User, done?: LastStep): Promise<LastStep | undefined> => {
      const remaining = done === undefined ? lastSteps : lastSteps.slice(lastSteps.indexOf(done) + 1)
      for (const next of remaining) if (await steps[next].isOpen(sql, user)) return next
      return undefined
    },
  }
}

type LastAnswersDependencies = {
  database: Database
  users: Users
  accountChanges: AccountChanges
  challenges: Challenges
  lastSteps: LastSteps
  newSessions: NewSessions
}

export type LastAnswers = ReturnType<typeof createLastAnswers>

/** Takes the answers to what a sign-in is asked for after its proofs. The last answer begins the session. */
export const createLastAnswers = (deps: LastAnswersDependencies) => {
  const { database, users, accountChanges, challenges, lastSteps, newSessions } = deps

  return {
    /** The fields that a sign-in of this user is asked for. */
    fieldsOf: async (userId: string) => {
      const user = await users.findEnabled(userId)
      return user ? lastSteps.fieldsFor(user) : []
    },

    /** In one transaction, the answer is written, and the session begins or the sign-in waits for the next step. */
    answer: async <Step extends LastStep>(token: string, step: Step, given: LastAnswer[Step], visit: Visit) => {
      const challenge = await challenges.find(token)
      if (!challenge) return refuse('challenge_over')
      if (!challenge.proof || challenge.kind !== step) return refuse('other_step')
      const { userId, by, proof } = challenge
      const outcome = await commitUnlessRefused(database, async (sql) => {
        const user = await users.lockEnabled(sql, userId)
        if (!user || !(await challenges.lock(sql, token))) return refuse('challenge_over')
        const result = await lastSteps.answer(sql, user, step, given)
        if ('refused' in result) return result
        await accountChanges.bySignIn(sql, { user, client: visit.client }, result.changes)
        return (await newSessions.begin(sql, user, { by, proof, token, done: step }, visit)) ?? refuse('challenge_over')
      })
      if (!('refused' in outcome)) await newSessions.record(outcome, by, visit)
      return outcome
    },
  }
}
