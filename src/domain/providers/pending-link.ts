import { type ProviderId, providerIds } from '../../contract/providers.js'
import { type Clock, later } from '../../lib/clock.js'
import { minutes } from '../../lib/durations.js'
import type { Seal } from '../../lib/seal.js'
import type { Profile } from './provider.js'

export const pendingLinkLifetime = 10 * minutes

/** Who began to link, in which session. */
export type Linker = { userId: string; sessionId: string }

/** An identity that the provider has proven, and that waits to be linked by the session which began it. */
export type PendingLink = { provider: ProviderId; linker: Linker; state: string; profile: Profile; expiresAt: Date }

/**
 * Nothing of it is kept on the server: the browser holds it, sealed, until the account page sends it back. The callback
 * alone links nothing, because it comes without the session: whoever planted the attempt would link their own account.
 */
export const createPendingLinks = ({ seal, clock }: { seal: Seal; clock: Clock }) => ({
  seal: ({ provider, linker, state, profile }: Omit<PendingLink, 'expiresAt'>) => {
    const { userId, sessionId } = linker
    const { subject, email, username } = profile
    const expires = later(clock.now(), pendingLinkLifetime).getTime()
    return seal.seal(JSON.stringify([provider, userId, sessionId, state, subject, email, username, expires]))
  },

  /** The link, unless it was altered or is past its time. */
  open: (sealed: string): PendingLink | undefined => {
    const text = seal.open(sealed)
    const link = text === undefined ? undefined : parse(text)
    return link && link.expiresAt > clock.now() ? link : undefined
  },
})

export type PendingLinks = ReturnType<typeof createPendingLinks>

const isText = (field: unknown): field is string => typeof field === 'string'

/** The seal proves that we wrote it; an older release of ours may have written it otherwise. */
const parse = (text: string): PendingLink | undefined => {
  const fields: unknown = JSON.parse(text)
  if (!Array.isArray(fields)) return undefined
  const [provider, userId, sessionId, state, subject, email, username, expires]: unknown[] = fields
  const knownProvider = providerIds.find((id) => id === provider)
  if (!knownProvider || typeof expires !== 'number') return undefined
  if (!isText(userId) || !isText(sessionId) || !isText(state)) return undefined
  if (!isText(subject) || !isText(email) || !isText(username)) return undefined
  return {
    provider: knownProvider,
    linker: { userId, sessionId },
    state,
    profile: { subject, email, username, name: null },
    expiresAt: new Date(expires),
  }
}
