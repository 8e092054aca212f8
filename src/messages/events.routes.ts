import { Type } from 'typebox'
import { describeDevice } from '../contract/device-names.js'
import { securityEventKinds } from '../contract/events.js'
import { AccountEvent } from '../contract/schemas.js'
import { route } from '../http/route.js'
import type { Server } from '../http/server.js'
import type { App } from '../service/open-http.js'

export const eventsRoutes = (server: Server, { guards, events, callers }: App) => {
  route(server, 'GET /api/auth/events', {
    guard: guards.read,
    tag: 'events',
    summary: "What recently happened to the caller's account, newest first",
    query: Type.Object({
      security: Type.Optional(
        Type.Literal('true', {
          description: 'Only changes of the account and signs of a stranger, of which a mail would tell the user',
        }),
      ),
    }),
    refuses: ['bad_request'],
    answers: { 200: Type.Object({ events: Type.Array(AccountEvent) }) },
    handle: async ({ query, request }) => {
      const kinds = query.security ? securityEventKinds : undefined
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
    },
  })
}
