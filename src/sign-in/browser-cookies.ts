import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Ceremony, expiryOfSealedChallenge } from '../factors/passkey-ceremonies.js'
import type { Cookies } from '../http/cookies.js'
import { createTabCookies } from '../http/tab-cookies.js'
import type { Attempt, Attempts, PendingLink, PendingLinks } from '../providers/attempts.js'

/** The cookie with the identity that waits to be linked. */
export const createPendingLinkCookie = (cookies: Cookies, pendingLinks: PendingLinks) => ({
  keep: (reply: FastifyReply, link: Omit<PendingLink, 'expiresAt'>) =>
    cookies.set(reply, 'pending_link', pendingLinks.seal(link)),
  read: (request: FastifyRequest) => {
    const sealed = cookies.read(request, 'pending_link')
    return sealed === undefined ? undefined : pendingLinks.open(sealed)
  },
  clear: (reply: FastifyReply) => cookies.clear(reply, 'pending_link'),
})

export type AttemptCookies = ReturnType<typeof createAttemptCookies>

/** One cookie for each attempt to sign in at a provider, named after its state. */
export const createAttemptCookies = (cookies: Cookies, attempts: Attempts) => {
  const expiryOf = (sealed: string) => attempts.open(sealed)?.expiresAt.getTime() ?? 0
  const tabs = createTabCookies({ cookies, prefix: 'attempt', maxOthers: 4, maxBytesOfOthers: 1_500, expiryOf })
  return {
    keep: (request: FastifyRequest, reply: FastifyReply, attempt: Attempt) =>
      tabs.keep(request, reply, attempt.state, attempts.seal(attempt)),
    /** The attempt that an answer with this state belongs to, if this browser began it and it is not too old. */
    find: (request: FastifyRequest, state: string) => {
      const sealed = tabs.read(request, state)
      const attempt = sealed === undefined ? undefined : attempts.open(sealed)
      return attempt?.state === state ? attempt : undefined
    },
    clear: (reply: FastifyReply, { state }: Attempt) => tabs.clear(reply, state),
  }
}

/** One small cookie for each challenge that this browser got for a passkey: every tab of the sign-in page has one or two. */
export const createCeremonyCookies = ({ cookies }: { cookies: Cookies }) => {
  const tabs = createTabCookies({
    cookies,
    prefix: 'passkey',
    maxOthers: 12,
    maxBytesOfOthers: Number.POSITIVE_INFINITY,
    expiryOf: expiryOfSealedChallenge,
  })
  return {
    keep: (request: FastifyRequest, reply: FastifyReply, { challenge, sealedChallenge }: Ceremony) =>
      tabs.keep(request, reply, challenge, sealedChallenge),
    /** Takes the sealed challenge of this browser, and clears its cookie, because a challenge can be answered once. */
    take: (request: FastifyRequest, reply: FastifyReply, challenge: string | undefined) => {
      if (challenge === undefined) return undefined
      const sealedChallenge = tabs.read(request, challenge)
      if (sealedChallenge !== undefined) tabs.clear(reply, challenge)
      return sealedChallenge
    },
  }
}
