import type { Consents } from '../../applications/used-applications.js'
import type { Proofs } from '../../factors/second-factors.js'
import type { SessionLookups } from '../../sessions/session-lookups.js'
import type { SessionCaller } from '../../sessions/sessions.js'
import type { Users } from '../../users/users.js'
import type { SignedInUser } from './next-question.js'

export type SignedInUsers = ReturnType<typeof createSignedInUsers>

type Dependencies = {
  users: Pick<Users, 'findEnabled'>
  sessionLookups: Pick<SessionLookups, 'proofOfCaller'>
  proofs: Pick<Proofs, 'methodsFor'>
  consents: Pick<Consents, 'scopesOf'>
}

/** Finds the user of a request in the database, because a token may still claim a right that was taken away. */
export const createSignedInUsers = ({ users, sessionLookups, proofs, consents }: Dependencies) => ({
  /** Undefined if the session has ended or the account was disabled. */
  find: async (caller: SessionCaller | undefined, applicationId: string): Promise<SignedInUser | undefined> => {
    const user = caller && (await users.findEnabled(caller.userId))
    const proof = user && (await sessionLookups.proofOfCaller(caller))
    if (!user || !proof) return undefined
    const { id, username, groups } = user
    const methods = await proofs.methodsFor(user)
    return { id, username, groups, proof, methods, agreedTo: await consents.scopesOf(id, applicationId) }
  },
})
