import type { ProofMethod } from '../../contract/proofs.js'
import type { Factors } from '../factors/factors.js'
import type { Passkeys } from '../passkeys/passkeys.js'
import type { User, Users } from '../users/users.js'

export type Proofs = ReturnType<typeof createProofs>

/** What an account can prove with. */
export const createProofs = ({
  users,
  factors,
  passkeys,
}: {
  users: Pick<Users, 'findById'>
  factors: Pick<Factors, 'methodsOf'>
  passkeys: Pick<Passkeys, 'countUsable'>
}) => {
  /** What is enough to make a session of this user fresh again, the best first. */
  const methodsFor = async ({ id, passwordHash }: Pick<User, 'id' | 'passwordHash'>): Promise<ProofMethod[]> => {
    const passkey: ProofMethod[] = (await passkeys.countUsable(id)) > 0 ? ['passkey'] : []
    // A password alone is not enough for an account with two-step sign-in.
    const codes = await factors.methodsOf(id)
    if (codes.length > 0) return [...passkey, ...codes]
    if (passwordHash !== undefined) return [...passkey, 'password']
    // The mail is for accounts that have nothing else: who can read the mails must not get around a password.
    return passkey.length > 0 ? passkey : ['mail']
  }

  return {
    methodsFor,
    /** Undefined if the account is gone or disabled. */
    methodsOf: async (userId: string) => {
      const user = await users.findById(userId)
      return user && !user.disabled ? methodsFor(user) : undefined
    },
  }
}
