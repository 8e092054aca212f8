import type { Database } from '../../platform/database/database.js'
import type { Mails } from '../mails/mails.js'
import { readEmail } from '../users/email.js'
import type { ProviderId, User, Users } from '../users/users.js'
import { decide, type LinkingRefusal } from './linking.js'
import type { Profile } from './provider.js'

/** More rounds than this would mean that every look at the accounts was outdated by the time it was acted on. */
const rounds = 10

export type Resolved = { user: User; how: 'sign_in' | 'link' | 'create' }
export type Identities = ReturnType<typeof createIdentities>

/**
 * Applies the linking policy. Each change is one statement that fails when what it was decided on is no longer so; then
 * the policy is asked again about how things stand now. Twenty first sign-ins at once make one account this way.
 */
export const createIdentities = (parts: {
  database: Database
  users: Users
  mails: Pick<Mails, 'queue'>
  nameOf: (provider: ProviderId) => string
}) => {
  const { database, users, mails, nameOf } = parts

  const tellOwner = (user: User, provider: ProviderId) =>
    mails.queue(database, {
      to: user.email,
      template: 'provider-linked',
      values: { username: user.username, providerName: nameOf(provider) },
    })

  const create = async (provider: ProviderId, profile: Profile): Promise<Resolved | undefined> => {
    const email = readEmail(profile.email)
    if ('refused' in email) throw new Error('A profile has an email that cannot be one')
    const { username, name, providerId } = profile
    const created = await users.createFromProvider({ email, username, name, provider, providerId })
    return 'refused' in created ? undefined : { user: created, how: 'create' }
  }

  const link = async (provider: ProviderId, profile: Profile, user: User): Promise<Resolved | undefined> => {
    if ((await users.linkProvider(user.id, provider, profile.providerId)) !== true) return undefined
    await tellOwner(user, provider)
    return { user: { ...user, providers: [...user.providers, provider] }, how: 'link' }
  }

  const attempt = async (provider: ProviderId, profile: Profile, linkingToId: string | undefined) => {
    const owner = await users.findByProvider(provider, profile.providerId)
    const namesake = await users.findByEmail(profile.email)
    const linkingTo = linkingToId === undefined ? undefined : await users.findById(linkingToId)
    if (linkingToId !== undefined && !linkingTo) return { refused: 'disabled' as const }
    const decision = decide({ provider, owner, namesake, linkingTo })
    if (decision.action === 'refuse') return { refused: decision.reason }
    if (decision.action === 'create') return create(provider, profile)
    const user = [owner, namesake, linkingTo].find((account) => account?.id === decision.userId)
    if (!user) return undefined
    return decision.action === 'sign_in' ? { user, how: 'sign_in' as const } : link(provider, profile, user)
  }

  /** Finds, links or creates the account of a proven profile; with `linkingTo`, links it to that account and no other. */
  const resolve = async (
    provider: ProviderId,
    profile: Profile,
    { linkingTo }: { linkingTo?: string } = {},
  ): Promise<Resolved | { refused: LinkingRefusal }> => {
    for (let round = 0; round < rounds; round += 1) {
      const resolved = await attempt(provider, profile, linkingTo)
      if (resolved) return resolved
    }
    throw new Error('The accounts kept changing while an identity was being placed')
  }

  return { resolve }
}
