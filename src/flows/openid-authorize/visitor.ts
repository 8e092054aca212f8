import type { SignedInUser } from '../../domain/authorization-requests/next-question.js'
import type { Consents } from '../../domain/consents/consents.js'
import type { Proofs } from '../../domain/proofs/proofs.js'
import type { Client } from '../../domain/sessions/client.js'
import type { SessionLookups } from '../../domain/sessions/session-lookups.js'
import type { SessionCaller, TokenHolder } from '../../domain/sessions/sessions.js'
import type { Users } from '../../domain/users/users.js'

/** Who brings the request of an application: a browser, and the session in it. */
export type Visitor = {
  /** The value of the cookie that ties requests to their browser. */
  browser: string
  caller: TokenHolder | undefined
  /** There is a session, but its tokens have expired and could not be renewed. */
  couldNotRenew: boolean
  client: Client
}

export type SignedInUsers = ReturnType<typeof createSignedInUsers>

type Dependencies = {
  users: Pick<Users, 'findEnabled'>
  sessionLookups: Pick<SessionLookups, 'proofOfCaller'>
  proofs: Pick<Proofs, 'methodsFor'>
  consents: Pick<Consents, 'scopesOf'>
}

/** What is known of the user when a request is decided: from the database, as a token may promise a right that was taken away. */
export const createSignedInUsers = ({ users, sessionLookups, proofs, consents }: Dependencies) => ({
  /** Undefined if the session has ended or the account was disabled. */
  of: async (caller: SessionCaller | undefined, applicationId: string): Promise<SignedInUser | undefined> => {
    const user = caller && (await users.findEnabled(caller.userId))
    const proof = user && (await sessionLookups.proofOfCaller(caller))
    if (!user || !proof) return undefined
    const { id, username, groups } = user
    const methods = await proofs.methodsFor(user)
    return { id, username, groups, proof, methods, agreedTo: await consents.scopesOf(id, applicationId) }
  },
})
