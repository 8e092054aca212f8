import { factorsOf, type LastStep, type NextStep } from '../../contract/factors.js'
import type { ProfileFieldDefinition } from '../../contract/profile-fields.js'
import type { Sql, Transaction } from '../../platform/database/database.js'
import type { ProfileFields } from '../profile-fields/profile-fields.js'
import type { FirstProof } from '../sessions/sessions.js'
import type { Terms } from '../terms/terms.js'
import type { User } from '../users/users.js'
import type { NextSteps } from './next-steps.js'

type Dependencies = {
  profileFields: Pick<ProfileFields, 'definitions' | 'known' | 'missing'>
  terms: Pick<Terms, 'isMissing'>
  nextSteps: Pick<NextSteps, 'nextFor'>
}

type Step = { next: LastStep; isOpen: (sql: Sql, user: User) => Promise<boolean> }

export type LastSteps = ReturnType<typeof createLastSteps>

/**
 * What a user is asked for when every proof is given, and before the session begins, whatever the way. Running sessions are not
 * asked.
 */
export const createLastSteps = ({ profileFields, terms, nextSteps }: Dependencies) => {
  /** A provider made the account, so no form of ours has asked for what a registration asks. */
  const isNewFromProvider = ({ provider, hasSignedIn }: User) => provider !== null && !hasSignedIn

  /** The fields that the step `profile` asks for. */
  const fieldsFor = (user: User): readonly ProfileFieldDefinition[] => {
    const missing = profileFields.missing(user.fields)
    if (!isNewFromProvider(user)) return missing
    const values = profileFields.known(user.fields)
    const isAsked = ({ key, registration }: ProfileFieldDefinition) => registration && !Object.hasOwn(values, key)
    return profileFields.definitions.filter((each) => missing.includes(each) || isAsked(each))
  }

  /** In their order. */
  const steps: readonly Step[] = [
    { next: 'profile', isOpen: async (_, user) => fieldsFor(user).length > 0 },
    { next: 'terms', isOpen: (sql, user) => terms.isMissing(sql, user.id) },
  ]

  return {
    fieldsFor,
    /** Whether no proof is missing: the last steps come behind all of them. */
    areDue: async (sql: Transaction, { id }: User, { methods, trustedDevice }: FirstProof) =>
      trustedDevice !== undefined || factorsOf(methods) === 2 || !(await nextSteps.nextFor(sql, id)),
    /** The first that is open, behind one that is done: what may be left empty is asked for once. */
    nextFor: async (sql: Sql, user: User, done?: NextStep): Promise<LastStep | undefined> => {
      const from = steps.findIndex(({ next }) => next === done) + 1
      for (const { next, isOpen } of steps.slice(from)) if (await isOpen(sql, user)) return next
      return undefined
    },
  }
}
