import { Type } from 'typebox'
import { refuse } from '../../contract/outcome.js'
import { NoContent } from '../../contract/schemas.js'
import type { Events } from '../../domain/events/events.js'
import type { Sessions } from '../../domain/sessions/sessions.js'
import type { Users } from '../../domain/users/users.js'
import type { Guards } from '../../http/guards.js'
import { routeRefusals } from '../../http/route-refusals.js'
import type { Server } from '../../http/server.js'
import { type ServiceCallers, serviceRefusals } from '../../http/service-callers.js'
import { isUuid } from '../../lib/uuid.js'

const { responses, sendRefusal } = routeRefusals(...serviceRefusals)

const schema = {
  tags: ['for other programs'],
  summary: 'End every session of a user',
  params: Type.Object({ id: Type.String() }),
  response: { 204: NoContent, ...responses },
}

type Dependencies = { guards: Guards; users: Users; sessions: Sessions; events: Events; serviceCallers: ServiceCallers }

export const signOutUserRoutes = (
  server: Server,
  { guards, users, sessions, events, serviceCallers }: Dependencies,
) => {
  const onRequest = guards.service('sessions:end')

  server.post('/api/service/users/:id/sign-out', { schema, onRequest }, async (request, reply) => {
    const { id } = request.params
    const user = isUuid(id) ? await users.findById(id) : undefined
    if (!user) return sendRefusal(reply, refuse('not_found'))
    await sessions.endAll(user.id)
    await events.record({ kind: 'sessions_ended', userId: user.id }, serviceCallers.clientOf(request))
    return reply.status(204).send()
  })
}
