import { Type } from 'typebox'
import { isRefused } from '../../contract/outcome.js'
import { NoContent, Revocations, ServiceUser } from '../../contract/schemas.js'
import { routeRefusals } from '../../http/route-refusals.js'
import type { Server } from '../../http/server.js'
import type { ServiceCallers } from '../../http/service-callers.js'
import { seconds } from '../../lib/durations.js'
import type { createRevocations } from './revocations.js'
import type { createServiceUsers } from './service-users.js'

const { responses, sendRefusal } = routeRefusals(
  'bad_request',
  'not_authenticated',
  'scope_required',
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
  querystring: Type.Object({ email: Type.String({ minLength: 1, maxLength: 320 }) }),
  response,
}
const signOutSchema = {
  tags,
  summary: 'End every session of a user',
  params,
  response: { 204: NoContent, ...responses },
}

const longestWait = 25
const revocationsSchema = {
  tags,
  summary: 'Sessions whose access tokens are refused before they expire, for programs that check tokens themselves',
  querystring: Type.Object({
    after: Type.Optional(Type.String({ maxLength: 4_096, description: 'The cursor of the answer before' })),
    wait: Type.Optional(
      Type.String({
        pattern: '^(?:1?\\d|2[0-5])$',
        description: `How many seconds to wait for news, 0 to ${longestWait}`,
      }),
    ),
  }),
  response: { 200: Revocations, ...responses },
}

type Dependencies = {
  serviceUsers: ReturnType<typeof createServiceUsers>
  revocations: ReturnType<typeof createRevocations>
  serviceCallers: ServiceCallers
  isClosing: () => boolean
}

/** For applications beside the service, with a key. The shipped proxy files pass none of this on from outside. */
export const serviceRoutes = (server: Server, deps: Dependencies) => {
  const { serviceUsers, revocations, serviceCallers, isClosing } = deps
  const { withScope } = serviceCallers
  const path = '/api/service/users'

  server.get(`${path}/:id`, { schema: byIdSchema, onRequest: withScope('users:read') }, async (request, reply) => {
    const user = await serviceUsers.byId(request.params.id)
    return isRefused(user) ? sendRefusal(reply, user) : reply.send({ user })
  })

  server.get(path, { schema: byEmailSchema, onRequest: withScope('users:read') }, async (request, reply) => {
    const user = await serviceUsers.byEmail(request.query.email)
    return isRefused(user) ? sendRefusal(reply, user) : reply.send({ user })
  })

  server.post(
    `${path}/:id/sign-out`,
    { schema: signOutSchema, onRequest: withScope('sessions:end') },
    async (request, reply) => {
      const refusal = await serviceUsers.signOut(request.params.id, serviceCallers.clientOf(request))
      return isRefused(refusal) ? sendRefusal(reply, refusal) : reply.status(204).send()
    },
  )

  server.get(
    '/api/service/revocations',
    { schema: revocationsSchema, onRequest: withScope('revocations:read') },
    (request) => {
      const { after, wait = '0' } = request.query
      const isOver = () => isClosing() || request.raw.socket.destroyed
      return revocations({ after, wait: Number(wait) * seconds, isOver })
    },
  )
}
