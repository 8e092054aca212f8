import { EndSession, EndSessionBody } from '../../contract/openid.js'
import { refuse } from '../../contract/outcome.js'
import type { Cookies } from '../../http/cookies.js'
import { clientOf } from '../../http/request-origin.js'
import { routeRefusals } from '../../http/route.js'
import type { Server } from '../../http/server.js'

import type { BrowserSessionsOf } from '../../sessions/callers.js'
import type { Csrf } from '../../sessions/csrf.js'
import type { Limits } from '../../sessions/guards.js'

import { cacheHeader, forgetInBrowser, withHeaders } from '../../sign-in/answers.js'
import { addPageRoutes, type PageRouteParts } from '../page-routes.js'
import type { createEndSession } from './openid-end-session.js'

const { responses, sendRefusal } = routeRefusals(
  'not_found',
  'bad_request',
  'invalid_csrf_token',
  'cross_site',
  'too_many_requests',
  'unavailable',
)

/** The route is hidden, because it is for our own page and no part of the public API. */
const schema = {
  hide: true,
  body: EndSessionBody,
  response: {
    200: withHeaders(EndSession, { 'Set-Cookie': 'With `done`: clears the cookies of the session', ...cacheHeader }),
    ...responses,
  },
}

type Dependencies = PageRouteParts & {
  browserSessionsOf: BrowserSessionsOf
  cookies: Cookies
  csrf: Csrf
  limits: Limits
  /** Returns undefined while there is no application. */
  openEndSession: () => Promise<ReturnType<typeof createEndSession> | undefined>
}

/**
 * OpenID Connect RP-Initiated Logout 1.0. GET and POST only send the page. Its script then posts to `/answer` from our own origin, and
 * only the route of `/answer` reads cookies and ends the session.
 */
export const openidEndSessionRoutes = (server: Server, deps: Dependencies) => {
  const { browserSessionsOf, cookies, csrf, limits, openEndSession } = deps
  const path = '/api/auth/end-session'
  addPageRoutes(server, path, { ...deps, isOpen: async () => (await openEndSession()) !== undefined })

  const answerOptions = { schema, onRequest: [csrf.required, limits.logout], config: { ownOriginOnly: true } }
  server.post(`${path}/answer`, answerOptions, async (request, reply) => {
    const endSession = await openEndSession()
    if (!endSession) return sendRefusal(reply, refuse('not_found'))
    const { parameters, confirmed = false } = request.body
    const browserSessions = browserSessionsOf(request)
    const answer = await endSession(parameters, browserSessions, { confirmed, client: clientOf(request) })
    // A link of any site leads here, and must not empty the cache of a browser that has no session.
    if (answer.next === 'done' && browserSessions.length > 0) forgetInBrowser(reply, cookies)
    else if (answer.next === 'done') cookies.clearSession(reply)
    return reply.send(answer)
  })
}
