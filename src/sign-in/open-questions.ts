import type { Changes } from '../account-changes/account-changes.js'
import type { AccountChangesRoom } from '../account-changes/open-account-changes.js'
import { countFactors, type OpenQuestion, openQuestions } from '../contract/factors.js'
import { type Refused, refuse } from '../contract/outcome.js'
import type { ProfileFieldChanges, ProfileFieldDefinition } from '../contract/profile-fields.js'
import type { FactorsRoom } from '../factors/open-factors.js'
import type { Sql, Transaction } from '../platform/database/database.js'
import type { SessionFacts } from '../sessions/session-facts.js'
import type { UsersRoom } from '../users/open-users.js'
import type { InvalidFieldsRefusal } from '../users/profile-fields.js'
import type { User } from '../users/users.js'

/**
 * The answer to each question. That to the terms is the version that the user has seen, because another instance may have asked for
 * another version.
 */
export type Answers = { profile: ProfileFieldChanges; terms: string }
type AnswerResult =
  | { changes: Changes<'fields_changed' | 'terms_agreed'> }
  | InvalidFieldsRefusal
  | Refused<'terms_changed'>
type Question<Given> = {
  isOpen: (sql: Sql, user: User) => Promise<boolean>
  answer: (sql: Transaction, user: User, given: Given) => Promise<AnswerResult>
}

export type OpenQuestions = ReturnType<typeof createOpenQuestions>

/**
 * The questions to a user after every proof and before the session begins, however the user signs in. The users of running sessions are not
 * asked.
 */
export const createOpenQuestions = ({
  profileFields,
  fieldChanges,
  terms,
  factors,
}: UsersRoom & AccountChangesRoom & FactorsRoom) => {
  /** Whether a provider has created the account, and no session has begun yet. Its user has not seen our registration form. */
  const isNewFromProvider = ({ provider, hasSignedIn }: User) => provider !== null && !hasSignedIn

  /** The fields that the question `profile` asks for. */
  const fieldsFor = (user: User): readonly ProfileFieldDefinition[] => {
    const missing = profileFields.missing(user.fields)
    if (!isNewFromProvider(user)) return missing
    const values = profileFields.knownValues(user.fields)
    const isAsked = ({ key, registration }: ProfileFieldDefinition) => registration && !Object.hasOwn(values, key)
    return profileFields.definitions.filter((each) => missing.includes(each) || isAsked(each))
  }

  const questions: { [Name in OpenQuestion]: Question<Answers[Name]> } = {
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
    answer: <Name extends OpenQuestion>(sql: Transaction, user: User, question: Name, given: Answers[Name]) =>
      questions[question].answer(sql, user, given),
    /** Whether no proof is missing. The questions come after all proofs. */
    hasAllProofs: async (sql: Transaction, { id }: User, { methods, trustedDevice }: SessionFacts) =>
      trustedDevice !== null || countFactors(methods) === 2 || !(await factors.nextStepFor(sql, id)),
    /** The first open question after the one that is answered. So fields that may be left empty are asked for once. */
    nextFor: async (sql: Sql, user: User, answered?: OpenQuestion): Promise<OpenQuestion | undefined> => {
      const remaining =
        answered === undefined ? openQuestions : openQuestions.slice(openQuestions.indexOf(answered) + 1)
      for (const next of remaining) if (await questions[next].isOpen(sql, user)) return next
      return undefined
    },
  }
}
