import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Cookies } from '../http/cookies.js'
import type { PendingLink, PendingLinks } from '../providers/attempts.js'

const name = 'pending_link'

export type PendingLinkCookie = ReturnType<typeof createPendingLinkCookie>

type Dependencies = { cookies: Cookies; pendingLinks: PendingLinks }

/** The cookie with the identity that waits to be linked. */
export const createPendingLinkCookie = ({ cookies, pendingLinks }: Dependencies) => ({
  keep: (reply: FastifyReply, link: Omit<PendingLink, 'expiresAt'>) =>
    cookies.set(reply, name, pendingLinks.seal(link)),
  read: (request: FastifyRequest) => {
    const sealed = cookies.read(request, name)
    return sealed === undefined ? undefined : pendingLinks.open(sealed)
  },
  clear: (reply: FastifyReply) => cookies.clear(reply, name),
})
