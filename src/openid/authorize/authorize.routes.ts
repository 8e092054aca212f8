import type { FastifyReply, FastifyRequest } from 'fastify'
import { Authorization, AuthorizationBody, AuthorizationDecisionBody } from '../../contract/openid.js'
import { refuse } from '../../contract/outcome.js'
import { fixedLimiter, userSubject } from '../../http/limiters.js'
import { sendLimited } from '../../http/limits.js'
import { clientNetwork, clientOf, siteNetwork } from '../../http/request-origin.js'
import { guardRefusals, route, withHeaders } from '../../http/route.js'
import type { Server } from '../../http/server.js'
import { seconds } from '../../lib/durations.js'
import { randomToken } from '../../lib/random.js'
import type { App } from '../../service/open-http.js'
import { addPageRoutes, type ProtocolPages } from '../openid-door.js'
import type { Visitor } from './begin-request.js'

const cookieName = 'attempt_browser'
const cookieShape = /^[\w-]{43}$/

const total = 'total_authorization_requests'

const documentsLimiter = fixedLimiter('client_documents')
const allDocumentsLimiter = fixedLimiter('total_client_documents')
/** So that a flood of strangers stops no user who is signed in. */
const strangersLimiter = {
  ...allDocumentsLimiter,
  limit: { ...allDocumentsLimiter.limit, maximum: allDocumentsLimiter.limit.maximum / 2 },
}

/**
 * Counts a new authorization request: each stores a row, also for a visitor who is not signed in. A signed-in user has their own count,
 * so that strangers behind the same address cannot keep them from signing in. All sessions of a user count together, because many
 * sessions could otherwise fill the table. Returns undefined for a request that may go on, and otherwise the function that answers it.
 */
const countNewRequest = async (
  { countedRequests, ceilings, routeLimiters, callers }: App,
  request: FastifyRequest,
  reply: FastifyReply,
) => {
  const limiter = routeLimiters.authorization_requests
  const caller = callers.find(request)
  const subject = caller ? userSubject(caller.userId) : clientNetwork(request)
  const excess = await countedRequests.countAndFindExcess(limiter, subject, request, reply)
  if (excess) return () => sendLimited(reply, limiter, excess)
  const totalExcess = caller ? undefined : await ceilings.findExcess(total, request)
  return totalExcess && (() => ceilings.answerExcess(reply, total, totalExcess))
}

/** What is read of the browser that brings a request. */
const createVisitors = ({ callers, cookies, countedRequests }: App) => {
  const browserOf = (request: FastifyRequest) => {
    const value = cookies.read(request, cookieName) ?? ''
    return cookieShape.test(value) ? value : undefined
  }
  /** The counters answer with headers only where a request is refused, and this one may go on with an older copy. */
  const reserveFetch = async (request: FastifyRequest) => {
    const attempts = [
      { limiter: documentsLimiter, subject: siteNetwork(request) },
      ...(callers.find(request) ? [] : [{ limiter: strangersLimiter, subject: 'strangers' }]),
      { limiter: allDocumentsLimiter, subject: 'all' },
    ]
    const excess = await countedRequests.findExcess(attempts, request)
    if (!excess) return undefined
    return refuse('too_many_requests', { retryAfter: Math.ceil(excess.reservation.resetsIn / seconds) })
  }
  const visitorOf = (request: FastifyRequest, browser: string): Visitor => {
    const couldNotRenew = callers.find(request) === undefined && callers.refreshableTokenOf(request) !== undefined
    return {
      browser,
      caller: callers.holderOf(request),
      couldNotRenew,
      reserveFetch: () => reserveFetch(request),
      origin: clientOf(request),
    }
  }
  return { browserOf, visitorOf }
}

/** The page that applications send their users to, and its own API. */
export const openidAuthorizeRoutes = (server: Server, app: App, pages: ProtocolPages) => {
  const { guards, cookies, limits, openidProvider } = app
  const { browserOf, visitorOf } = createVisitors(app)

  // A navigation from another site brings no Strict cookie. So the page comes first, and asks from our own origin.
  addPageRoutes(server, '/api/auth/authorize', app, pages, pages.protocolPage('authorize'))

  // The routes are hidden, because they are for our own page and no part of the public API.
  route(server, 'POST /api/auth/authorization', {
    hidden: true,
    guard: [],
    body: AuthorizationBody,
    refuses: [
      'bad_request',
      'unknown_application',
      'program_not_allowed',
      'program_document_refused',
      'redirect_not_registered',
      'not_found',
      'cross_site',
      'too_many_requests',
      'unavailable',
    ],
    answers: { 200: withHeaders(Authorization, { 'Set-Cookie': 'Ties the request to this browser' }) },
    config: {
      ownOriginOnly: true,
      countsIn: [
        'authorization_requests',
        'total_authorization_requests',
        'client_documents',
        'total_client_documents',
        'general',
      ],
    },
    /** Counts only questions about stored requests. The handler counts new requests, and tells the application if there are too many. */
    preHandler: async (request: FastifyRequest, reply: FastifyReply) => {
      const { parameters } = request.body as { parameters?: string }
      return parameters === undefined ? limits.bySessionOrNetwork(request, reply) : undefined
    },
    handle: async ({ body: { parameters, request: id }, request, reply }) => {
      const openid = await openidProvider.open()
      if (!openid) return refuse('not_found')
      if ((parameters === undefined) === (id === undefined))
        return refuse('bad_request', { message: 'Send parameters or a request' })
      const browser = browserOf(request)
      if (parameters === undefined) return openid.authorize.resume(id ?? '', visitorOf(request, browser ?? ''))
      const answerExcess = await countNewRequest(app, request, reply)
      if (answerExcess) {
        const busy = await openid.authorize.answerBusy(parameters)
        if (busy) return busy
        answerExcess()
        return reply
      }
      const browserToken = browser ?? randomToken()
      const begun = await openid.authorize.begin(parameters, visitorOf(request, browserToken))
      if ('refused' in begun) return begun
      if (begun.request !== undefined) cookies.set(reply, cookieName, browserToken)
      return begun
    },
  })

  route(server, 'POST /api/auth/authorization/answer', {
    hidden: true,
    guard: guards.change,
    body: AuthorizationDecisionBody,
    refuses: [...guardRefusals, 'not_found'],
    answers: { 200: Authorization },
    config: { ownOriginOnly: true },
    handle: async ({ body, request }) => {
      const openid = await openidProvider.open()
      if (!openid) return refuse('not_found')
      return openid.authorize.answer(body, visitorOf(request, browserOf(request) ?? ''))
    },
  })
}
