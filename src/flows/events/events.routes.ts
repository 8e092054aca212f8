import { Type } from 'typebox'
import type { Events } from '../../domain/events/events.js'
import type { Callers } from '../../http/caller.js'
import { ErrorBody } from '../../http/errors.js'
import type { Limits } from '../../http/limits.js'
import type { Server } from '../../http/server.js'
import { describeDevice } from '../../lib/device.js'

const Event = Type.Object({
  id: Type.String({ format: 'uuid' }),
  kind: Type.String(),
  reason: Type.Union([Type.String(), Type.Null()]),
  ip: Type.String(),
  device: Type.String(),
  createdAt: Type.String({ format: 'date-time' }),
})

const schema = {
  tags: ['events'],
  summary: "What recently happened to the caller's account, newest first",
  response: { 200: Type.Object({ events: Type.Array(Event) }), 401: ErrorBody, 429: ErrorBody, 503: ErrorBody },
}

type Dependencies = { events: Events; callers: Callers; limits: Limits }

export const eventsRoutes = (server: Server, { events, callers, limits }: Dependencies) => {
  server.get('/api/auth/events', { schema, onRequest: [callers.required, limits.caller] }, async (request) => {
    const rows = await events.recent(callers.of(request).userId)
    return {
      events: rows.map(({ id, kind, reason, ip, user_agent, created_at }) => ({
        id,
        kind,
        reason,
        ip,
        device: describeDevice(user_agent).text,
        createdAt: created_at.toISOString(),
      })),
    }
  })
}
