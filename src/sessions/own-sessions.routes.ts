import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { AccountChanges } from '../account-changes/account-changes.js'
import { describeDevice } from '../contract/device-names.js'
import { isRefused, refuse } from '../contract/outcome.js'
import { NoContent, Session } from '../contract/schemas.js'
import type { Freshness } from '../factors/freshness.js'
import type { Cookies } from '../http/cookies.js'
import { guardRefusals, routeRefusals, withHeaders } from '../http/route.js'
import type { Server } from '../http/server.js'
import { uuidPattern } from '../lib/uuid.js'
import type { Callers } from './callers.js'
import type { Guards } from './guards.js'
import { cacheHeader, forgetInBrowser } from './session-cookies.js'
import type { CallerContext } from './session-facts.js'
import type { SessionLookups } from './session-lookups.js'
import type { SessionCaller, Sessions } from './sessions.js'

type OwnSessionsDependencies = {
  accountChanges: AccountChanges
  sessions: Sessions
  sessionLookups: SessionLookups
}

/** The sessions of the caller. Those of another user are not found. */
export const createOwnSessions = ({ accountChanges, sessions, sessionLookups }: OwnSessionsDependencies) => {
  return {
    list: async ({ userId, sessionId }: SessionCaller): Promise<Session[]> => {
      const ownSessions = await sessionLookups.list(userId)
      return ownSessions.map(
        ({ id, ip, userAgent, createdAt, lastUsedAt, methods, provider, administers, application }) => ({
          id,
          ip,
          userAgent,
          ...describeDevice(userAgent),
          createdAt: createdAt.toISOString(),
          lastUsedAt: lastUsedAt.toISOString(),
          current: id === sessionId,
          methods,
          provider,
          administers,
          application,
        }),
      )
    },
    /** Ends a session of the caller. A caller whose own session has just ended at another instance is refused. */
    end: (context: CallerContext, id: string) =>
      accountChanges.byCaller(context, 'session_ended', async (sql, user) =>
        (await sessions.end(sql, 'session_ended', { sessionId: id, userId: user.id }))
          ? { changes: { session_ended: { event: { sessionId: id } } } }
          : refuse('not_found'),
      ),
  }
}

const listRefusals = routeRefusals('not_authenticated', 'too_many_requests', 'unavailable')
const endRefusals = routeRefusals(...guardRefusals, 'fresh_sign_in_required', 'not_found')

const listSchema = {
  tags: ['sessions'],
  summary: "The caller's sessions, last used first",
  response: { 200: Type.Object({ sessions: Type.Array(Session) }), ...listRefusals.responses },
}
const endSchema = {
  tags: ['sessions'],
  summary: "End one of the caller's sessions; any but the session of this request needs a fresh sign-in",
  params: Type.Object({ id: Type.String({ pattern: uuidPattern }) }),
  response: {
    204: withHeaders(NoContent, {
      'Set-Cookie': 'If it was the session of this request: clears its cookies',
      ...cacheHeader,
    }),
    ...endRefusals.responses,
  },
}

type SessionsRouteDependencies = {
  guards: Guards
  ownSessions: ReturnType<typeof createOwnSessions>
  cookies: Cookies
  callers: Callers
  freshness: Freshness
}

export const sessionsRoutes = (server: Server, deps: SessionsRouteDependencies) => {
  const { guards, ownSessions, cookies, callers, freshness } = deps
  const path = '/api/auth/sessions'

  server.get(path, { schema: listSchema, onRequest: guards.read }, async (request) => ({
    sessions: await ownSessions.list(callers.of(request)),
  }))

  /** Asks for a fresh sign-in only to end another session. To end one's own is a sign-out, which is never refused. */
  const requireFreshForAnother = async (request: FastifyRequest, reply: FastifyReply) => {
    const { id } = request.params as { id: string }
    return id === callers.of(request).sessionId ? undefined : freshness.required(request, reply)
  }

  const endOptions = { schema: endSchema, onRequest: [...guards.change, requireFreshForAnother] }
  server.delete(`${path}/:id`, endOptions, async (request, reply) => {
    const caller = callers.of(request)
    const { id } = request.params
    const ended = await ownSessions.end(callers.contextOf(request), id)
    if (isRefused(ended)) return endRefusals.sendRefusal(reply, ended)
    if (id === caller.sessionId) forgetInBrowser(reply, cookies)
    return reply.status(204).send()
  })
}
