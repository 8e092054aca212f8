import { Type } from 'typebox'
import { isRefused, refuse } from '../../contract/outcome.js'
import { NoContent } from '../../contract/schemas.js'
import type { OperatorChanges } from '../../domain/accounts/operator-changes.js'
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

type Dependencies = {
  guards: Guards
  operatorChanges: Pick<OperatorChanges, 'endSessions'>
  serviceCallers: ServiceCallers
}

export const signOutUserRoutes = (server: Server, { guards, operatorChanges, serviceCallers }: Dependencies) => {
  const onRequest = guards.service('sessions:end')

  server.post('/api/service/users/:id/sign-out', { schema, onRequest }, async (request, reply) => {
    const { id: userId } = request.params
    if (!isUuid(userId)) return sendRefusal(reply, refuse('not_found'))
    // Administrators can be signed out, too, because it costs them no more than a new sign-in.
    const client = serviceCallers.actingClient(request, { protectedGroups: [] })
    const ended = await operatorChanges.endSessions({ userId, client })
    return isRefused(ended) ? sendRefusal(reply, refuse('not_found')) : reply.status(204).send()
  })
}
