import { isRefused, type Refused, refuse } from '../contract/outcome.js'
import type { GateRefusal, Invitations } from '../registration/invitations.js'

import { readEmail } from '../users/names.js'
import type { NewUsers } from '../users/new-users.js'
import type { ProvenIdentity, ResolvedAccount } from './identities.js'

type Dependencies = { newUsers: Pick<NewUsers, 'createFromProvider'>; invitations: Pick<Invitations, 'admit'> }

/**
 * Creates an account for a proven identity. No mailed link is needed: the provider has verified the address, and an invitation of that
 * address is enough. Undefined if the address or the identity got an account meanwhile.
 */
export const createAccountCreation =
  ({ newUsers, invitations }: Dependencies) =>
  async ({
    provider,
    profile,
    client,
    mayCreate = async () => true,
  }: ProvenIdentity): Promise<ResolvedAccount | Refused<GateRefusal | 'too_many_requests'> | undefined> => {
    const email = readEmail(profile.email)
    if (isRefused(email)) throw new Error('A profile has an email that cannot be one')
    if (!(await mayCreate(email))) return refuse('too_many_requests')
    const { username, name, subject } = profile
    let usedInvitation = false
    const newUser = { email, username, name, identity: { provider, subject }, language: client.language }
    const created = await newUsers.createFromProvider<GateRefusal>(newUser, async (sql, insert) => {
      const admitted = await invitations.admit(sql, { email }, insert)
      if (isRefused(admitted)) return admitted
      usedInvitation = admitted.usedInvitation
      return admitted.created
    })
    if (!isRefused(created)) return { user: created, how: 'create', usedInvitation }
    const { refused } = created
    return refused === 'provider_taken' || refused === 'email_taken' ? undefined : refuse(refused)
  }
