import { Type } from 'typebox'
import { describeDevice } from '../../contract/device-names.js'
import { AccountEvent } from '../../contract/schemas.js'
import type { Events } from '../../domain/events/events.js'
import type { Callers } from '../../http/caller.js'
import type { Guards } from '../../http/guards.js'
import { routeRefusals } from '../../http/route-refusals.js'
import type { Server } from '../../http/server.js'

const { responses } = routeRefusals('not_authenticated', 'too_many_requests', 'unavailable')

const schema = {
  tags: ['events'],
  summary: "What recently happened to the caller's account, newest first",
  response: { 200: Type.Object({ events: Type.Array(AccountEvent) }), ...responses },
}

type Dependencies = { guards: Guards; events: Events; callers: Callers }

export const eventsRoutes = (server: Server, { guards, events, callers }: Dependencies) => {
  server.get('/api/auth/events', { schema, onRequest: guards.read }, async (request) => {
    const recent = await events.recent(callers.of(request).userId)
    return {
      events: recent.map(({ id, kind, reason, ip, userAgent, createdAt }) => ({
        id,
        kind,
        reason,
        ip,
        ...describeDevice(userAgent),
        createdAt: createdAt.toISOString(),
      })),
    }
  })
}
