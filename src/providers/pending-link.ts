import { Type } from 'typebox'
import type { ProviderId } from '../contract/providers.js'
import { Provider } from '../contract/schemas.js'

import { type Clock, later } from '../lib/clock.js'
import { minutes } from '../lib/durations.js'
import { createSealedJson, type Seal } from '../lib/seal.js'

import type { Profile } from './provider.js'

export const pendingLinkLifetime = 10 * minutes

/** The user who began to link an identity, and their session. */
export type Linker = { userId: string; sessionId: string }

/** An identity that the provider has proven. It waits for the session that began the link. */
export type PendingLink = { provider: ProviderId; linker: Linker; state: string; profile: Profile; expiresAt: Date }

/** The link in the form of its cookie. The name of the profile is left out, because a link changes no name. */
const SealedLink = Type.Object({
  provider: Provider,
  userId: Type.String(),
  sessionId: Type.String(),
  state: Type.String(),
  subject: Type.String(),
  email: Type.String(),
  username: Type.String(),
  expiresAt: Type.Integer(),
})

/**
 * The callback of the provider links nothing, because it comes without the session: an attacker could plant an attempt in the browser, and
 * so link their own identity to the user's account. The callback seals the proven identity into a cookie, which the account page sends back
 * with the session.
 */
export const createPendingLinks = ({ seal, clock }: { seal: Seal; clock: Clock }) => {
  const sealedLinks = createSealedJson(seal, SealedLink)
  return {
    seal: ({ provider, linker, state, profile }: Omit<PendingLink, 'expiresAt'>) => {
      const { subject, email, username } = profile
      const expiresAt = later(clock.now(), pendingLinkLifetime).getTime()
      return sealedLinks.seal({ provider, ...linker, state, subject, email, username, expiresAt })
    },

    /** The link, unless it was changed or has expired. */
    open: (sealed: string): PendingLink | undefined => {
      const link = sealedLinks.open(sealed)
      if (!link || link.expiresAt <= clock.now().getTime()) return undefined
      const { provider, userId, sessionId, state, subject, email, username, expiresAt } = link
      return {
        provider,
        linker: { userId, sessionId },
        state,
        profile: { subject, email, username, name: null },
        expiresAt: new Date(expiresAt),
      }
    },
  }
}

export type PendingLinks = ReturnType<typeof createPendingLinks>
