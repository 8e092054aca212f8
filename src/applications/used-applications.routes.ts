import { Type } from 'typebox'
import { usedApplicationBody } from '../accounts/user-bodies.js'
import { isRefused } from '../contract/outcome.js'
import { NoContent, UsedApplication } from '../contract/schemas.js'
import { guardRefusals, routeRefusals } from '../http/route.js'
import type { Server } from '../http/server.js'

import type { Callers } from '../sessions/callers.js'
import type { Guards } from '../sessions/guards.js'

import type { UsedApplications } from './used-applications.js'

const listRefusals = routeRefusals('not_authenticated', 'too_many_requests', 'unavailable')
const endRefusals = routeRefusals(...guardRefusals, 'not_found')

const listSchema = {
  tags: ['account'],
  summary: 'Applications that the caller has signed in to, last used first',
  response: { 200: Type.Object({ applications: Type.Array(UsedApplication) }), ...listRefusals.responses },
}
const endSchema = {
  tags: ['account'],
  summary: 'End the access of an application, in all sessions of the caller',
  params: Type.Object({ id: Type.String({ minLength: 1, maxLength: 100 }) }),
  response: { 204: NoContent, ...endRefusals.responses },
}

type Dependencies = { guards: Guards; callers: Callers; usedApplications: UsedApplications }

export const usedApplicationsRoutes = (server: Server, { guards, callers, usedApplications }: Dependencies) => {
  const path = '/api/auth/applications'

  server.get(path, { schema: listSchema, onRequest: guards.read }, async (request) => {
    const used = await usedApplications.listOfUser(callers.of(request).userId)
    return { applications: used.map(usedApplicationBody) }
  })

  // No fresh sign-in is needed, because this takes away no more than a sign-out does.
  server.delete(`${path}/:id`, { schema: endSchema, onRequest: guards.change }, async (request, reply) => {
    const ended = await usedApplications.endByCaller(callers.contextOf(request), request.params.id)
    if (isRefused(ended)) return endRefusals.sendRefusal(reply, ended)
    return reply.status(204).send()
  })
}
