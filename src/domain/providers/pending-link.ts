import { isProviderId, type ProviderId } from '../../contract/providers.js'
import { type Clock, later } from '../../lib/clock.js'
import { minutes } from '../../lib/durations.js'
import type { Seal } from '../../lib/seal.js'
import type { Profile } from './provider.js'
import { isText, sealedFields } from './sealed-object.js'

export const pendingLinkLifetime = 10 * minutes

/** The user who began to link, and the session. */
export type Linker = { userId: string; sessionId: string }

/** An identity that the provider has proven, waiting for the session that began the link. */
export type PendingLink = { provider: ProviderId; linker: Linker; state: string; profile: Profile; expiresAt: Date }

/**
 * The callback of the provider links nothing, because it comes without the session: an attacker who planted the attempt could link an
 * account. It seals the proven identity into a cookie, and the account page sends that back with the session.
 */
export const createPendingLinks = ({ seal, clock }: { seal: Seal; clock: Clock }) => ({
  /** The name of the profile is left out: a link changes no name. */
  seal: ({ provider, linker, state, profile }: Omit<PendingLink, 'expiresAt'>) => {
    const { subject, email, username } = profile
    const expiresAt = later(clock.now(), pendingLinkLifetime).getTime()
    return seal.seal(JSON.stringify({ provider, ...linker, state, subject, email, username, expiresAt }))
  },

  /** The link, unless it was changed or has expired. */
  open: (sealed: string): PendingLink | undefined => {
    const link = linkFrom(sealedFields(seal.open(sealed)))
    return link && link.expiresAt > clock.now() ? link : undefined
  },
})

export type PendingLinks = ReturnType<typeof createPendingLinks>

const linkFrom = (fields: ReturnType<typeof sealedFields>): PendingLink | undefined => {
  const { provider, userId, sessionId, state, subject, email, username, expiresAt } = fields
  if (!isProviderId(provider) || typeof expiresAt !== 'number') return undefined
  if (!isText(userId) || !isText(sessionId) || !isText(state)) return undefined
  if (!isText(subject) || !isText(email) || !isText(username)) return undefined
  return {
    provider,
    linker: { userId, sessionId },
    state,
    profile: { subject, email, username, name: null },
    expiresAt: new Date(expiresAt),
  }
}
