import { Type } from 'typebox'
import { refuse } from '../../contract/outcome.js'
import { ServiceUser } from '../../contract/schemas.js'
import type { ProfileFields } from '../../domain/profile-fields/profile-fields.js'
import type { User, Users } from '../../domain/users/users.js'
import type { Guards } from '../../http/guards.js'
import { routeRefusals } from '../../http/route-refusals.js'
import type { Server } from '../../http/server.js'
import { serviceRefusals } from '../../http/service-callers.js'
import { serviceUserBody } from '../../http/user-bodies.js'
import { isUuid } from '../../lib/uuid.js'

const { responses, answer } = routeRefusals(...serviceRefusals)

const tags = ['for other programs']
const response = { 200: Type.Object({ user: ServiceUser }), ...responses }
const byIdSchema = { tags, summary: 'A user by id', params: Type.Object({ id: Type.String() }), response }
const byEmailSchema = {
  tags,
  summary: 'A user by email',
  querystring: Type.Object({ email: Type.String({ minLength: 1, maxLength: 320 }) }),
  response,
}

type Dependencies = { guards: Guards; users: Users; profileFields: ProfileFields }

export const userLookupRoutes = (server: Server, { guards, users, profileFields }: Dependencies) => {
  const found = (user: User | undefined) =>
    user ? { user: serviceUserBody(user, profileFields) } : refuse('not_found')
  const onRequest = guards.service('users:read')

  server.get('/api/service/users/:id', { schema: byIdSchema, onRequest }, async (request, reply) => {
    const { id } = request.params
    return answer(reply, found(isUuid(id) ? await users.findById(id) : undefined))
  })

  server.get('/api/service/users', { schema: byEmailSchema, onRequest }, async (request, reply) => {
    return answer(reply, found(await users.findByEmail(request.query.email)))
  })
}
