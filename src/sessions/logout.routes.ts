import { isRefused, refuse } from '../contract/outcome.js'
import { NoContent } from '../contract/schemas.js'
import type { Cookies } from '../http/cookies.js'
import { clientOf } from '../http/request-origin.js'
import { guardRefusals, routeRefusals } from '../http/route.js'
import type { Server } from '../http/server.js'

import { cacheHeader, forgetInBrowser, withCookies, withHeaders } from '../sign-in/responses.js'
import type { BrowserSessionsOf } from './browser-sessions.js'
import type { Callers } from './caller.js'
import type { Csrf } from './csrf.js'
import type { Guards } from './guards.js'
import type { Limits } from './limits.js'
import type { createLogout } from './logout.js'

const { responses, sendRefusal } = routeRefusals(...guardRefusals)
const clearsSession = 'Clears the cookies of the session'
const response = { 204: withHeaders(NoContent, { 'Set-Cookie': clearsSession, ...cacheHeader }), ...responses }
const schema = { tags: ['sessions'], summary: 'End this session', response }
const everywhereSchema = {
  tags: ['sessions'],
  summary: 'End every session of the caller',
  response: withCookies(response, { 401: clearsSession }),
}

type Dependencies = {
  guards: Guards
  logout: ReturnType<typeof createLogout>
  cookies: Cookies
  callers: Callers
  browserSessionsOf: BrowserSessionsOf
  csrf: Csrf
  limits: Limits
}

export const logoutRoutes = (server: Server, deps: Dependencies) => {
  const { guards, logout, cookies, callers, browserSessionsOf, csrf, limits } = deps

  server.post('/api/auth/logout', { schema, onRequest: [csrf.required, limits.logout] }, async (request, reply) => {
    await logout.here(browserSessionsOf(request), clientOf(request))
    forgetInBrowser(reply, cookies)
    return reply.status(204).send()
  })

  const everywhereOptions = { schema: everywhereSchema, onRequest: guards.changeLimitedBy(limits.logout) }
  server.post('/api/auth/logout-all', everywhereOptions, async (request, reply) => {
    const ended = await logout.everywhere(callers.contextOf(request), callers.sessionOfRefreshToken(request))
    if (isRefused(ended) && ended.refused === 'outdated') return sendRefusal(reply, refuse('not_authenticated'))
    if (isRefused(ended)) {
      cookies.clearSession(reply)
      return sendRefusal(reply, ended)
    }
    forgetInBrowser(reply, cookies)
    return reply.status(204).send()
  })
}
