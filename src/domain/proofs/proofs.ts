import type { ProofMethod } from '../../contract/proofs.js'
import type { User, Users } from '../users/users.js'

export type Proofs = ReturnType<typeof createProofs>

/** What an account can prove with. */
export const createProofs = ({ users }: { users: Pick<Users, 'findById'> }) => {
  /** What is enough to make a session of this user fresh again, the best first. */
  const methodsFor = async ({ passwordHash }: Pick<User, 'id' | 'passwordHash'>): Promise<ProofMethod[]> =>
    // The mail is for accounts that have nothing else: who can read the mails must not get around a password.
    passwordHash === undefined ? ['mail'] : ['password']

  return {
    methodsFor,
    /** Undefined if the account is gone or disabled. */
    methodsOf: async (userId: string) => {
      const user = await users.findById(userId)
      return user && !user.disabled ? methodsFor(user) : undefined
    },
  }
}
