import type { FastifyReply, FastifyRequest } from 'fastify'
import { applicationIssuer } from '../../applications/applications.js'
import { Authorization, AuthorizationBody, AuthorizationDecisionBody } from '../../contract/openid.js'
import { refuse } from '../../contract/outcome.js'
import type { Cookies } from '../../http/cookies.js'
import { type RouteLimiters, userSubject } from '../../http/limiters.js'
import { type CountedRequests, sendLimited } from '../../http/limits.js'
import { clientNetwork, clientOf } from '../../http/request-origin.js'
import { guardRefusals, routeRefusals, withHeaders } from '../../http/route.js'
import type { Server } from '../../http/server.js'
import { randomToken } from '../../lib/random.js'
import type { pagesRoutes } from '../../pages/pages.routes.js'
import type { App } from '../../service/open-http.js'

import type { Callers } from '../../sessions/callers.js'
import type { Guards, Limits } from '../../sessions/guards.js'
import type { Ceilings } from '../../sign-in/ceilings.js'
import type { OpenidNouns } from '../open-openid.js'
import { addPageRoutes, type PageRouteParts } from '../openid-door.js'
import { createAuthorize, createMakeCode, createReportNoAccess, createSignedInUsers } from './authorize.js'
import { createAnswers, createBeginRequest, type Visitor } from './begin-request.js'

const cookieName = 'attempt_browser'
const cookieShape = /^[\w-]{43}$/

const questionRefusals = routeRefusals(
  'bad_request',
  'unknown_application',
  'redirect_not_registered',
  'not_found',
  'cross_site',
  'too_many_requests',
  'unavailable',
)
const answerRefusals = routeRefusals(...guardRefusals, 'not_found')

/** The routes are hidden, because they are for our own page and no part of the public API. */
const questionSchema = {
  hide: true,
  body: AuthorizationBody,
  response: {
    200: withHeaders(Authorization, { 'Set-Cookie': 'Ties the request to this browser' }),
    ...questionRefusals.responses,
  },
}
const answerSchema = {
  hide: true,
  body: AuthorizationDecisionBody,
  response: { 200: Authorization, ...answerRefusals.responses },
}

type OpenidAuthorizeRouteDependencies = PageRouteParts & {
  guards: Guards
  callers: Callers
  cookies: Cookies
  limits: Limits
  authorizationLimit: AuthorizationLimit
  /** Returns undefined while there is no application. */
  openAuthorize: () => Promise<ReturnType<typeof createAuthorize> | undefined>
}

const createVisitorOf =
  (callers: Callers) =>
  (request: FastifyRequest, browser: string): Visitor => {
    const couldNotRenew = callers.find(request) === undefined && callers.refreshableTokenOf(request) !== undefined
    return { browser, caller: callers.holderOf(request), couldNotRenew, client: clientOf(request) }
  }

const createBrowserOf = (cookies: Cookies) => (request: FastifyRequest) => {
  const value = cookies.read(request, cookieName) ?? ''
  return cookieShape.test(value) ? value : undefined
}

/** The page that applications send their users to, and its own API. */
const openidAuthorizeRoutes = (server: Server, deps: OpenidAuthorizeRouteDependencies) => {
  const { guards, callers, cookies, limits, authorizationLimit, openAuthorize } = deps

  const visitorOf = createVisitorOf(callers)
  const browserOf = createBrowserOf(cookies)

  // A navigation from another site brings no Strict cookie. So the page comes first, and asks from our own origin.
  addPageRoutes(server, '/api/auth/authorize', { ...deps, isOpen: async () => (await openAuthorize()) !== undefined })

  const questionOptions = {
    schema: questionSchema,
    config: {
      ownOriginOnly: true,
      countsIn: ['authorization_requests', 'total_authorization_requests', 'general'] as const,
    },
    /** Counts only questions about stored requests. The handler counts new requests, and tells the application if there are too many. */
    preHandler: async (request: FastifyRequest, reply: FastifyReply) => {
      const { parameters } = request.body as { parameters?: string }
      return parameters === undefined ? limits.bySessionOrNetwork(request, reply) : undefined
    },
  }
  server.post('/api/auth/authorization', questionOptions, async (request, reply) => {
    const { parameters, request: id } = request.body
    const authorize = await openAuthorize()
    if (!authorize) return questionRefusals.sendRefusal(reply, refuse('not_found'))
    if ((parameters === undefined) === (id === undefined))
      return questionRefusals.sendRefusal(reply, refuse('bad_request', { message: 'Send parameters or a request' }))
    const browser = browserOf(request)
    if (parameters === undefined) {
      const found = await authorize.resume(id ?? '', visitorOf(request, browser ?? ''))
      return reply.send(found)
    }
    const answerExcess = await authorizationLimit.countAndFindExcess(request, reply)
    if (answerExcess) {
      const busy = await authorize.answerBusy(parameters)
      if (busy) return reply.send(busy)
      answerExcess()
      return reply
    }
    const browserToken = browser ?? randomToken()
    const begun = await authorize.begin(parameters, visitorOf(request, browserToken))
    if ('refused' in begun) return questionRefusals.sendRefusal(reply, begun)
    if (begun.request !== undefined) cookies.set(reply, cookieName, browserToken)
    return reply.send(begun)
  })

  server.post(
    '/api/auth/authorization/answer',
    { schema: answerSchema, onRequest: guards.change, config: { ownOriginOnly: true } },
    async (request, reply) => {
      const authorize = await openAuthorize()
      if (!authorize) return answerRefusals.sendRefusal(reply, refuse('not_found'))
      return reply.send(await authorize.answer(request.body, visitorOf(request, browserOf(request) ?? '')))
    },
  )
}

type AuthorizationLimitDependencies = {
  countedRequests: CountedRequests
  ceilings: Ceilings
  routeLimiters: RouteLimiters
  callers: Callers
}

const total = 'total_authorization_requests'

type AuthorizationLimit = ReturnType<typeof createAuthorizationLimit>

/**
 * Limits new authorization requests: each stores a row, also for a visitor who is not signed in. A signed-in user has their own count,
 * so that strangers behind the same address cannot keep them from signing in. All sessions of a user count together, because many
 * sessions could otherwise fill the table.
 */
export const createAuthorizationLimit = ({
  countedRequests,
  ceilings,
  routeLimiters,
  callers,
}: AuthorizationLimitDependencies) => {
  const limiter = routeLimiters.authorization_requests
  return {
    /** Returns undefined for a request that may go on, and otherwise the function that answers it. */
    countAndFindExcess: async (request: FastifyRequest, reply: FastifyReply) => {
      const caller = callers.find(request)
      const subject = caller ? userSubject(caller.userId) : clientNetwork(request)
      const excess = await countedRequests.countAndFindExcess(limiter, subject, request, reply)
      if (excess) return () => sendLimited(reply, limiter, excess)
      const totalExcess = caller ? undefined : await ceilings.findExcess(total, request)
      return totalExcess && (() => ceilings.answerExcess(reply, total, totalExcess))
    },
  }
}

type Pages = ReturnType<typeof pagesRoutes>

/** Registers the page to which applications send their users. Its parts are created at the first request while there is an application. */
export const registerAuthorizePage = (server: Server, app: App, pages: Pages) => {
  const createAuthorizeParts = (openid: OpenidNouns) => {
    const parts = { ...app, ...openid, issuer: applicationIssuer(app.config.publicUrl) }
    const signedInUsers = createSignedInUsers(parts)
    return createAuthorize({
      ...parts,
      signedInUsers,
      beginRequest: createBeginRequest(parts),
      answers: createAnswers(parts),
      makeCode: createMakeCode(parts),
      reportNoAccess: createReportNoAccess(parts),
    })
  }
  let authorize: ReturnType<typeof createAuthorizeParts> | undefined
  openidAuthorizeRoutes(server, {
    ...app,
    openAuthorize: async () => {
      const openid = await app.openidProvider.open()
      if (openid) authorize ??= createAuthorizeParts(openid)
      return openid && authorize
    },
    sendPage: pages.protocolPage('authorize'),
    sendNotFound: pages.plainPage('not-found'),
    sendTooMany: pages.plainPage('too-many-requests'),
  })
}
