import { Type } from 'typebox'
import type { OperatorChanges } from '../accounts/operator-changes.js'
import { isRefused, refuse } from '../contract/outcome.js'
import { NoContent } from '../contract/schemas.js'
import { type Limiter, limiters, userSubject } from '../http/limiters.js'
import type { CountedRequests } from '../http/limits.js'
import { routeRefusals } from '../http/route.js'
import type { Server } from '../http/server.js'

import { isUuid } from '../lib/uuid.js'
import type { Guards } from '../sessions/guards.js'
import { type ServiceCallers, serviceRefusals } from './service-callers.js'

const { responses, sendRefusal } = routeRefusals(...serviceRefusals)

const schema = {
  tags: ['for other programs'],
  summary: 'End every session of a user',
  params: Type.Object({ id: Type.String() }),
  response: { 204: NoContent, ...responses },
}

/** Administrators can be signed out too, so a stolen key could keep out those who can stop it. */
const userLimiter: Limiter = {
  name: 'service_sign_outs',
  limit: limiters.service_sign_outs.limit,
  code: 'too_many_requests',
}

type Dependencies = {
  guards: Guards
  countedRequests: Pick<CountedRequests, 'count'>
  operatorChanges: Pick<OperatorChanges, 'endSessions'>
  serviceCallers: ServiceCallers
}

export const signOutUserRoutes = (
  server: Server,
  { guards, countedRequests, operatorChanges, serviceCallers }: Dependencies,
) => {
  const onRequest = guards.service('sessions:end')
  const config = { countsIn: ['service_sign_outs'] as const }

  server.post('/api/service/users/:id/sign-out', { schema, onRequest, config }, async (request, reply) => {
    const { id: userId } = request.params
    if (!isUuid(userId)) return sendRefusal(reply, refuse('not_found'))
    if (await countedRequests.count(userLimiter, userSubject(userId), request, reply)) return reply
    // Administrators can be signed out, too, because it costs them no more than a new sign-in now and then.
    const client = serviceCallers.actingClient(request, { protectedGroups: [] })
    const ended = await operatorChanges.endSessions({ userId, client })
    return isRefused(ended) ? sendRefusal(reply, refuse('not_found')) : reply.status(204).send()
  })
}
