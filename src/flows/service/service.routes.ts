import { Type } from 'typebox'
import { isRefused } from '../../contract/outcome.js'
import { NoContent, ServiceUser } from '../../contract/schemas.js'
import { routeRefusals } from '../../http/route-refusals.js'
import type { Server } from '../../http/server.js'
import type { ServiceCallers } from '../../http/service-callers.js'
import type { createServiceUsers } from './service-users.js'

const { responses, sendRefusal } = routeRefusals(
  'bad_request',
  'not_authenticated',
  'not_found',
  'too_many_requests',
  'too_many_logins',
  'unavailable',
)

const tags = ['for other programs']
const params = Type.Object({ id: Type.String() })
const response = { 200: Type.Object({ user: ServiceUser }), ...responses }
const byIdSchema = { tags, summary: 'A user by id', params, response }
const byEmailSchema = {
  tags,
  summary: 'A user by email',
  querystring: Type.Object({ email: Type.String({ minLength: 1, maxLength: 320 }) }, { additionalProperties: false }),
  response,
}
const signOutSchema = {
  tags,
  summary: 'End every session of a user',
  params,
  response: { 204: NoContent, ...responses },
}

type Dependencies = { serviceUsers: ReturnType<typeof createServiceUsers>; serviceCallers: ServiceCallers }

/** For applications beside the service, with a key. The shipped proxy files pass none of this on from outside. */
export const serviceRoutes = (server: Server, { serviceUsers, serviceCallers }: Dependencies) => {
  const path = '/api/service/users'
  const onRequest = serviceCallers.required

  server.get(`${path}/:id`, { schema: byIdSchema, onRequest }, async (request, reply) => {
    const user = await serviceUsers.byId(request.params.id)
    return isRefused(user) ? sendRefusal(reply, user) : reply.send({ user })
  })

  server.get(path, { schema: byEmailSchema, onRequest }, async (request, reply) => {
    const user = await serviceUsers.byEmail(request.query.email)
    return isRefused(user) ? sendRefusal(reply, user) : reply.send({ user })
  })

  server.post(`${path}/:id/sign-out`, { schema: signOutSchema, onRequest }, async (request, reply) => {
    const refusal = await serviceUsers.signOut(request.params.id, serviceCallers.clientOf(request))
    return isRefused(refusal) ? sendRefusal(reply, refusal) : reply.status(204).send()
  })
}
