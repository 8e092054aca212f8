import type { FastifyReply, FastifyRequest } from 'fastify'
import { EndSession, EndSessionQuestion } from '../../contract/end-session.js'
import { refuse } from '../../contract/outcome.js'
import type { BrowserSessions } from '../../http/browser-sessions.js'
import { clientOf } from '../../http/client.js'
import type { Cookies } from '../../http/cookies/cookies.js'
import type { Csrf } from '../../http/csrf.js'
import type { Limits } from '../../http/limits/limits.js'
import { formOf } from '../../http/protocol/forms.js'
import { withHeaders } from '../../http/responses.js'
import { routeRefusals } from '../../http/route-refusals.js'
import type { Server } from '../../http/server.js'
import type { createEndSession } from './openid-end-session.js'

const { responses, sendRefusal } = routeRefusals(
  'not_found',
  'bad_request',
  'invalid_csrf_token',
  'cross_site',
  'too_many_requests',
  'unavailable',
)

/** Hidden: an API of our own page is no part of the public one. */
const schema = {
  hide: true,
  body: EndSessionQuestion,
  response: {
    200: withHeaders(EndSession, { 'Set-Cookie': 'With `done`: clears the cookies of the session' }),
    ...responses,
  },
}

type Dependencies = {
  browserSessionsOf: BrowserSessions
  cookies: Cookies
  csrf: Csrf
  limits: Limits
  /** Undefined while there is no application. */
  openEndSession: () => Promise<ReturnType<typeof createEndSession> | undefined>
  sendPage: (request: FastifyRequest, reply: FastifyReply, posted?: string) => FastifyReply
  sendNotFound: (request: FastifyRequest, reply: FastifyReply) => FastifyReply
}

/** OpenID Connect RP-Initiated Logout 1.0. The page reads no cookie and ends nothing: it asks from our own origin. */
export const openidEndSessionRoutes = (server: Server, deps: Dependencies) => {
  const { browserSessionsOf, cookies, csrf, limits, openEndSession, sendPage, sendNotFound } = deps
  const path = '/api/auth/end-session'
  const page = { schema: { hide: true }, config: { unlimited: 'Sent from memory' } }

  server.get(path, page, async (request, reply) =>
    (await openEndSession()) ? sendPage(request, reply) : sendNotFound(request, reply),
  )

  server.post(path, page, async (request, reply) => {
    if (!(await openEndSession())) return sendNotFound(request, reply)
    const { values, repeated } = formOf(request)
    // What came twice stays so: the page is told that the parameters are wrong.
    const posted = new URLSearchParams([...values, ...repeated.map((name): [string, string] => [name, ''])])
    return sendPage(request, reply, posted.toString())
  })

  const answerOptions = { schema, onRequest: [csrf.required, limits.logout], config: { ownOriginOnly: true } }
  server.post(`${path}/answer`, answerOptions, async (request, reply) => {
    const endSession = await openEndSession()
    if (!endSession) return sendRefusal(reply, refuse('not_found'))
    const { parameters, confirmed = false } = request.body
    const answer = await endSession(parameters, browserSessionsOf(request), {
      confirmed,
      client: clientOf(request),
    })
    if (answer.next === 'done') cookies.clearSession(reply)
    return reply.send(answer)
  })
}
