import { Type } from 'typebox'
import { describeDevice } from '../contract/device-names.js'
import { securityEventKinds } from '../contract/events.js'
import { AccountEvent } from '../contract/schemas.js'

import { routeRefusals } from '../http/route.js'
import type { Server } from '../http/server.js'

import type { Callers } from '../sessions/callers.js'
import type { Guards } from '../sessions/guards.js'

import type { Events } from './events.js'

const { responses } = routeRefusals('bad_request', 'not_authenticated', 'too_many_requests', 'unavailable')

const schema = {
  tags: ['events'],
  summary: "What recently happened to the caller's account, newest first",
  querystring: Type.Object({
    security: Type.Optional(
      Type.Literal('true', {
        description: 'Only changes of the account and signs of a stranger, of which a mail would tell the user',
      }),
    ),
  }),
  response: { 200: Type.Object({ events: Type.Array(AccountEvent) }), ...responses },
}

type Dependencies = { guards: Guards; events: Events; callers: Callers }

export const eventsRoutes = (server: Server, { guards, events, callers }: Dependencies) => {
  server.get('/api/auth/events', { schema, onRequest: guards.read }, async (request) => {
    const kinds = request.query.security ? securityEventKinds : undefined
    const recent = await events.recent(callers.of(request).userId, kinds)
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
