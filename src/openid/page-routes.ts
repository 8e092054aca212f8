import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Form, formOf } from '../http/forms.js'
import { type Limiter, limiters } from '../http/limiters.js'
import { type CountedRequests, setLimitHeaders } from '../http/limits.js'
import { clientNetwork } from '../http/request-origin.js'
import type { Server } from '../http/server.js'

type SendPage = (request: FastifyRequest, reply: FastifyReply) => FastifyReply

export type PageRouteParts = {
  countedRequests: Pick<CountedRequests, 'countAndFindExcess'>
  /** `posted`: the form that an application has sent, as a query. */
  sendPage: (request: FastifyRequest, reply: FastifyReply, posted?: string) => FastifyReply
  sendNotFound: SendPage
  sendTooMany: SendPage
}

const limiter: Limiter = { name: 'posted_pages', limit: limiters.posted_pages.limit, code: 'too_many_requests' }

/** The form as the query of an address. A repeated parameter is repeated, so that the check of the parameters sees it. */
const textOf = ({ values, repeated }: Form) =>
  new URLSearchParams([...values, ...repeated.map((name) => [name, values.get(name) ?? ''])]).toString()

/**
 * Adds the page to which applications send their users, by a link or by a form. While there is no application (`isOpen`), its address is
 * unknown. Everybody may send forms, from any site and without a cookie, so they are counted before they are read.
 */
export const addPageRoutes = (
  server: Server,
  url: string,
  { countedRequests, sendPage, sendNotFound, sendTooMany, isOpen }: PageRouteParts & { isOpen: () => Promise<boolean> },
) => {
  const refuseWhileClosed = async (request: FastifyRequest, reply: FastifyReply) =>
    (await isOpen()) ? undefined : sendNotFound(request, reply)
  const limitForms = async (request: FastifyRequest, reply: FastifyReply) => {
    const excess = await countedRequests.countAndFindExcess(limiter, clientNetwork(request), request, reply)
    return excess && sendTooMany(request, reply.header('Retry-After', setLimitHeaders(reply, limiter, excess)))
  }
  const schema = { hide: true }
  const fromMemory = { unlimited: 'Sent from memory' }
  server.get(url, { schema, config: fromMemory, onRequest: refuseWhileClosed }, (request, reply) =>
    sendPage(request, reply),
  )
  const counted = { countsIn: [limiter.name] }
  server.post(url, { schema, config: counted, onRequest: [refuseWhileClosed, limitForms] }, (request, reply) =>
    sendPage(request, reply, textOf(formOf(request))),
  )
}
