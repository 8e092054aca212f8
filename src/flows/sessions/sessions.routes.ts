import { Type } from 'typebox'
import { refuse } from '../../contract/outcome.js'
import type { Events } from '../../domain/events/events.js'
import type { Sessions } from '../../domain/sessions/sessions.js'
import type { Callers } from '../../http/caller.js'
import { clientOf } from '../../http/client.js'
import type { Cookies } from '../../http/cookies.js'
import type { Csrf } from '../../http/csrf.js'
import { ErrorBody, sendRefusal } from '../../http/errors.js'
import type { Limits } from '../../http/limits.js'
import { NoContent } from '../../http/responses.js'
import type { Server } from '../../http/server.js'
import { describeDevice } from '../../lib/device.js'
import { uuidPattern } from '../../lib/uuid.js'

const Session = Type.Object({
  id: Type.String({ format: 'uuid' }),
  ip: Type.String(),
  userAgent: Type.String(),
  device: Type.String(),
  createdAt: Type.String({ format: 'date-time' }),
  lastUsedAt: Type.String({ format: 'date-time' }),
  current: Type.Boolean(),
})

const listSchema = {
  tags: ['sessions'],
  summary: "The caller's sessions, last used first",
  response: { 200: Type.Object({ sessions: Type.Array(Session) }), 401: ErrorBody, 429: ErrorBody, 503: ErrorBody },
}
const endSchema = {
  tags: ['sessions'],
  summary: "End one of the caller's sessions",
  params: Type.Object({ id: Type.String({ pattern: uuidPattern }) }),
  response: { 204: NoContent, 401: ErrorBody, 403: ErrorBody, 404: ErrorBody, 429: ErrorBody, 503: ErrorBody },
}

type Dependencies = {
  sessions: Sessions
  events: Events
  cookies: Cookies
  callers: Callers
  csrf: Csrf
  limits: Limits
}

export const sessionsRoutes = (server: Server, { sessions, events, cookies, callers, csrf, limits }: Dependencies) => {
  const path = '/api/auth/sessions'

  server.get(path, { schema: listSchema, onRequest: [callers.required, limits.caller] }, async (request) => {
    const { userId, sessionId } = callers.of(request)
    const rows = await sessions.list(userId)
    return {
      sessions: rows.map((row) => ({
        id: row.id,
        ip: row.ip,
        userAgent: row.user_agent,
        device: describeDevice(row.user_agent).text,
        createdAt: row.created_at.toISOString(),
        lastUsedAt: row.last_used_at.toISOString(),
        current: row.id === sessionId,
      })),
    }
  })

  const ending = { schema: endSchema, onRequest: [callers.required, csrf.required, limits.caller] }
  server.delete(`${path}/:id`, ending, async (request, reply) => {
    const { userId, sessionId } = callers.of(request)
    const { id } = request.params
    if (!(await sessions.end(id, userId))) return sendRefusal(reply, refuse('not_found'))
    await events.record({ kind: 'session_ended', userId, sessionId: id }, clientOf(request))
    if (id === sessionId) cookies.clearSession(reply)
    return reply.status(204).send()
  })
}
