import type { FastifyReply, FastifyRequest } from 'fastify'
import type { PendingLink, PendingLinks } from '../../domain/providers/pending-link.js'
import type { Cookies } from './cookies.js'

const name = 'pending_link'

export type PendingLinkCookie = ReturnType<typeof createPendingLinkCookie>

/** The cookie with the identity that waits to be linked. */
export const createPendingLinkCookie = ({ cookies, links }: { cookies: Cookies; links: PendingLinks }) => ({
  keep: (reply: FastifyReply, link: Omit<PendingLink, 'expiresAt'>) => cookies.set(reply, name, links.seal(link)),
  read: (request: FastifyRequest) => {
    const sealed = cookies.read(request, name)
    return sealed === undefined ? undefined : links.open(sealed)
  },
  clear: (reply: FastifyReply) => cookies.clear(reply, name),
})
