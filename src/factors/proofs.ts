import type { ProofMethod } from '../contract/factors.js'
import type { Mails } from '../messages/mails.js'
import { acceptTransaction, type Database } from '../platform/database/database.js'
import type { User, Users } from '../users/users.js'
import type { Factors } from './factors.js'
import type { Passkeys } from './passkeys.js'

export type Proofs = ReturnType<typeof createProofs>

/** The methods that an account can prove with. */
export const createProofs = ({
  database,
  users,
  factors,
  passkeys,
  mails,
}: {
  database: Database
  users: Pick<Users, 'findEnabled'>
  factors: Pick<Factors, 'methodsOf'>
  passkeys: Pick<Passkeys, 'countUsable'>
  mails: Pick<Mails, 'isOff'>
}) => {
  const optionalTransaction = acceptTransaction(database)

  /**
   * The methods that make a session of this user fresh again, the best first. A password is not enough if the account has a second factor.
   * A mail is only for accounts that have nothing else: a person who can read the mails must not get around a password. Where nothing is mailed, or the address was never proven, such an account has no
   * method: a new sign-in with its provider makes a fresh session.
   */
  const methodsFor = optionalTransaction(async (sql, user: Pick<User, 'id' | 'passwordHash' | 'emailClaimed'>) => {
    const { id, passwordHash, emailClaimed } = user
    const passkeyMethods: ProofMethod[] = (await passkeys.countUsable(sql, id)) > 0 ? ['passkey'] : []
    const secondFactors = [...passkeyMethods, ...(await factors.methodsOf(sql, id))]
    if (secondFactors.length > 0) return secondFactors
    if (passwordHash !== undefined) return ['password' as const]
    return mails.isOff || emailClaimed ? [] : ['mail' as const]
  })

  return {
    methodsFor,
    /** Undefined if the account is gone or disabled. */
    methodsByUserId: async (userId: string) => {
      const user = await users.findEnabled(userId)
      return user && methodsFor(user)
    },
  }
}
