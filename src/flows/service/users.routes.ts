import { Type } from 'typebox'
import { isRefused, refuse } from '../../contract/outcome.js'
import {
  type ServiceListedUser,
  ServiceUserFound,
  ServiceUserQuery,
  ServiceUsers,
  servicePath,
} from '../../contract/service-bodies.js'
import type { ProfileFields } from '../../domain/profile-fields/profile-fields.js'
import type { FoundUser, UserSearch } from '../../domain/users/user-search.js'
import type { User, Users } from '../../domain/users/users.js'
import type { Guards } from '../../http/guards.js'
import { routeRefusals } from '../../http/route-refusals.js'
import type { Server } from '../../http/server.js'
import { serviceRefusals } from '../../http/service-callers.js'
import { serviceUserBody } from '../../http/user-bodies.js'
import { isUuid } from '../../lib/uuid.js'

const { responses, answer } = routeRefusals(...serviceRefusals)

const tags = ['for other programs']
const byIdSchema = {
  tags,
  summary: 'A user by id',
  params: Type.Object({ id: Type.String() }),
  response: { 200: ServiceUserFound, ...responses },
}
const listSchema = {
  tags,
  summary: 'Users, a page at a time. `search` finds them by the beginning of a name, `email` finds one user',
  querystring: ServiceUserQuery,
  response: { 200: Type.Union([ServiceUsers, ServiceUserFound]), ...responses },
}

type Dependencies = {
  guards: Guards
  users: Pick<Users, 'findById' | 'findByEmail'>
  userSearch: Pick<UserSearch, 'page'>
  profileFields: ProfileFields
}

export const serviceUsersRoutes = (server: Server, { guards, users, userSearch, profileFields }: Dependencies) => {
  const onRequest = guards.service('users:read')

  const foundBody = (user: User | undefined) =>
    user ? { user: serviceUserBody(user, profileFields) } : refuse('not_found')

  const listedBody = (user: FoundUser): ServiceListedUser => ({
    ...serviceUserBody(user, profileFields),
    factors: user.factors,
    lastSignInAt: user.lastSignInAt?.toISOString() ?? null,
  })

  server.get(`${servicePath}/users/:id`, { schema: byIdSchema, onRequest }, async (request, reply) => {
    const { id } = request.params
    return answer(reply, foundBody(isUuid(id) ? await users.findById(id) : undefined))
  })

  server.get(`${servicePath}/users`, { schema: listSchema, onRequest }, async (request, reply) => {
    const { email, limit, secondFactor, ...search } = request.query
    if (email !== undefined)
      return Object.keys(request.query).length === 1
        ? answer(reply, foundBody(await users.findByEmail(email)))
        : answer(reply, refuse('bad_request', { message: 'email cannot be combined with other parameters' }))
    const page = await userSearch.page({
      ...search,
      factor: secondFactor,
      ...(limit !== undefined && { limit: Number(limit) }),
    })
    return answer(reply, isRefused(page) ? page : { users: page.users.map(listedBody), next: page.next })
  })
}
