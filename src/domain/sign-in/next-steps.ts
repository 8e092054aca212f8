import { enrolmentMethods, type NextStep, type SecondFactorMethod } from '../../contract/factors.js'
import type { Sql } from '../../platform/database/database.js'
import type { Factors } from '../factors/factors.js'
import type { Passkeys } from '../passkeys/passkeys.js'

type Dependencies = {
  factors: Pick<Factors, 'methodsOf' | 'hasTotp'>
  passkeys: Pick<Passkeys, 'countUsable'>
  /** Whether every session needs a second factor, also of an account that has none. */
  secondFactorRequired: boolean
}
type Step = { next: NextStep; methods: readonly SecondFactorMethod[]; allowsTrustedDevice: boolean }

export type NextSteps = ReturnType<typeof createNextSteps>

/** What a sign-in needs after its first proof. */
export const createNextSteps = ({ factors, passkeys, secondFactorRequired }: Dependencies) => {
  const withPasskeys = async (userId: string, codes: SecondFactorMethod[], sql?: Sql): Promise<SecondFactorMethod[]> =>
    (await passkeys.countUsable(userId, sql)) > 0 ? ['passkey', ...codes] : codes

  return {
    /** What finishes a challenge of this user, the best first. */
    methodsOf: async (userId: string) => withPasskeys(userId, await factors.methodsOf(userId)),

    /** Undefined if the first proof is enough. A passkey alone does not make a second step necessary, unless every account needs one. */
    nextFor: async (userId: string, sql?: Sql): Promise<Step | undefined> => {
      const codes = await factors.methodsOf(userId, sql)
      if (codes.length === 0 && !secondFactorRequired) return undefined
      const methods = await withPasskeys(userId, codes, sql)
      if (methods.length === 0) return { next: 'enrolment', methods: enrolmentMethods, allowsTrustedDevice: false }
      return { next: 'second_factor', methods, allowsTrustedDevice: codes.length > 0 }
    },

    hasFactor: async (userId: string, sql: Sql) =>
      (await factors.hasTotp(userId, sql)) || (await passkeys.countUsable(userId, sql)) > 0,
  }
}
