import { enrolmentMethods, type ProofStep, type SecondFactorMethod } from '../contract/factors.js'
import { acceptTransaction, type Database, type Sql, type Transaction } from '../platform/database/database.js'
import type { Factors } from './factors.js'
import type { Passkeys } from './passkeys.js'

type Dependencies = {
  database: Database
  factors: Pick<Factors, 'methodsOf'>
  passkeys: Pick<Passkeys, 'countUsable'>
  /** Whether every session needs a second factor, even if the account has none. */
  secondFactorRequired: boolean
}
type Step = { next: ProofStep; methods: readonly SecondFactorMethod[]; allowsTrustedDevice: boolean }

export type NextSteps = ReturnType<typeof createNextSteps>

/** Finds the proof that a sign-in needs after its first one. */
export const createNextSteps = ({ database, factors, passkeys, secondFactorRequired }: Dependencies) => {
  const withPasskeys = async (
    sql: Sql,
    userId: string,
    codeMethods: SecondFactorMethod[],
  ): Promise<SecondFactorMethod[]> =>
    (await passkeys.countUsable(sql, userId)) > 0 ? ['passkey', ...codeMethods] : codeMethods

  return {
    /** The methods that finish a challenge of this user, the best first. */
    methodsOf: async (userId: string) => withPasskeys(database, userId, await factors.methodsOf(userId)),

    /** Undefined if the first proof is enough. A passkey alone does not make a second step necessary, unless every account needs one. */
    nextFor: acceptTransaction(database)(async (sql, userId: string): Promise<Step | undefined> => {
      const codeMethods = await factors.methodsOf(sql, userId)
      if (codeMethods.length === 0 && !secondFactorRequired) return undefined
      const methods = await withPasskeys(sql, userId, codeMethods)
      if (methods.length === 0) return { next: 'enrolment', methods: enrolmentMethods, allowsTrustedDevice: false }
      return { next: 'second_factor', methods, allowsTrustedDevice: codeMethods.length > 0 }
    }),

    hasFactor: async (sql: Transaction, userId: string) =>
      (await withPasskeys(sql, userId, await factors.methodsOf(sql, userId))).length > 0,
  }
}
