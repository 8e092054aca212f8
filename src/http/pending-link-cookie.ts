import type { FastifyReply, FastifyRequest } from 'fastify'
import { type PendingLink, type PendingLinks, pendingLinkLifetime } from '../domain/providers/pending-link.js'
import { seconds } from '../lib/durations.js'
import type { Cookies } from './cookies.js'

const name = 'pending_link'
const attributes = { sameSite: 'Strict' } as const

export type PendingLinkCookie = ReturnType<typeof createPendingLinkCookie>

/** The cookie with the identity that waits to be linked. */
export const createPendingLinkCookie = ({ cookies, links }: { cookies: Cookies; links: PendingLinks }) => ({
  keep: (reply: FastifyReply, link: Omit<PendingLink, 'expiresAt'>) =>
    cookies.set(reply, name, links.seal(link), { ...attributes, maxAge: pendingLinkLifetime / seconds }),
  read: (request: FastifyRequest) => {
    const sealed = cookies.read(request, name)
    return sealed === undefined ? undefined : links.open(sealed)
  },
  clear: (reply: FastifyReply) => cookies.clear(reply, name, attributes),
})
