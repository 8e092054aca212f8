import type { ProofMethod } from '../../contract/proofs.js'
import type { Database } from '../../platform/database/database.js'
import { createOptionalTransaction } from '../../platform/database/optional-transaction.js'
import type { Factors } from '../factors/factors.js'
import type { Passkeys } from '../passkeys/passkeys.js'
import type { User, Users } from '../users/users.js'

export type Proofs = ReturnType<typeof createProofs>

/** The methods that an account can prove with. */
export const createProofs = ({
  database,
  users,
  factors,
  passkeys,
}: {
  database: Database
  users: Pick<Users, 'findEnabled'>
  factors: Pick<Factors, 'methodsOf'>
  passkeys: Pick<Passkeys, 'countUsable'>
}) => {
  const optionalTransaction = createOptionalTransaction(database)

  /**
   * The methods that are enough to make a session of this user fresh again, the best first. A password is not, if the account has a second
   * factor; and the mail is for accounts that have nothing else: who can read the mails must not get around a password.
   */
  const methodsFor = optionalTransaction(async (sql, { id, passwordHash }: Pick<User, 'id' | 'passwordHash'>) => {
    const passkey: ProofMethod[] = (await passkeys.countUsable(sql, id)) > 0 ? ['passkey'] : []
    const secondFactors = [...passkey, ...(await factors.methodsOf(sql, id))]
    if (secondFactors.length > 0) return secondFactors
    const other: ProofMethod = passwordHash === undefined ? 'mail' : 'password'
    return [other]
  })

  return {
    methodsFor,
    /** Undefined if the account is gone or disabled. */
    methodsOf: async (userId: string) => {
      const user = await users.findEnabled(userId)
      return user && methodsFor(user)
    },
  }
}
