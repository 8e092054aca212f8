import { Type } from 'typebox'
import { isRefused, refuse } from '../contract/outcome.js'
import { NoContent, Session } from '../contract/schemas.js'
import { guardHook, route, withHeaders } from '../http/route.js'
import type { Server } from '../http/server.js'
import { uuidPattern } from '../lib/uuid.js'
import type { App } from '../service/open-http.js'
import { cacheHeader, forgetInBrowser } from './session-cookies.js'
import { sessionBody } from './session-lookups.js'

export const sessionsRoutes = (server: Server, app: App) => {
  const { guards, cookies, callers, freshness, accountChanges, sessions, sessionLookups } = app

  route(server, 'GET /api/auth/sessions', {
    guard: guards.read,
    tag: 'sessions',
    summary: "The caller's sessions, last used first",
    refuses: [],
    answers: { 200: Type.Object({ sessions: Type.Array(Session) }) },
    handle: async ({ request }) => {
      const { userId, sessionId } = callers.of(request)
      const ownSessions = await sessionLookups.list(userId)
      return {
        sessions: ownSessions.map((session) => ({ ...sessionBody(session), current: session.id === sessionId })),
      }
    },
  })

  /** Asks for a fresh sign-in only to end another session. To end one's own is a sign-out, which is never refused. */
  const freshForAnother = guardHook({}, freshness.required.refusals, async (request, reply) => {
    const { id } = request.params as { id: string }
    return id === callers.of(request).sessionId ? undefined : freshness.required(request, reply)
  })

  route(server, 'DELETE /api/auth/sessions/:id', {
    guard: [...guards.change, freshForAnother],
    tag: 'sessions',
    summary: "End one of the caller's sessions; any but the session of this request needs a fresh sign-in",
    params: Type.Object({ id: Type.String({ pattern: uuidPattern }) }),
    refuses: ['not_found'],
    answers: {
      204: withHeaders(NoContent, {
        'Set-Cookie': 'If it was the session of this request: clears its cookies',
        ...cacheHeader,
      }),
    },
    handle: async ({ params: { id: sessionId }, request, reply }) => {
      const context = callers.contextOf(request)
      // A session of another user is not found. A caller whose own session has just ended at another instance is refused.
      const ended = await accountChanges.byCaller(context, 'session_ended', async (sql, user) =>
        (await sessions.end(sql, 'session_ended', { sessionId, userId: user.id }))
          ? { changes: { session_ended: { event: { sessionId } } } }
          : refuse('not_found'),
      )
      if (isRefused(ended)) return ended
      if (sessionId === context.caller.sessionId) forgetInBrowser(reply, cookies)
      return undefined
    },
  })
}
