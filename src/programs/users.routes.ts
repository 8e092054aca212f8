import { type Static, Type } from 'typebox'
import { serviceUserBody } from '../accounts/user-bodies.js'
import { isRefused, refuse } from '../contract/outcome.js'
import {
  type ServiceListedUser,
  ServiceUserFound,
  ServiceUserQuery,
  ServiceUserSearch,
  ServiceUsers,
  servicePath,
} from '../contract/service.js'
import { routeRefusals } from '../http/route.js'
import type { Server } from '../http/server.js'

import { isUuid } from '../lib/uuid.js'
import type { Guards } from '../sessions/guards.js'
import type { ProfileFields } from '../users/profile-fields.js'
import type { FoundUser, UserSearch } from '../users/search.js'
import type { User, Users } from '../users/users.js'

import { serviceRefusals } from './service-callers.js'

const { responses, answer } = routeRefusals(...serviceRefusals)

const tags = ['for other programs']
const byIdSchema = {
  tags,
  summary: 'A user by id',
  params: Type.Object({ id: Type.String() }),
  response: { 200: ServiceUserFound, ...responses },
}
const found = { 200: Type.Union([ServiceUsers, ServiceUserFound]), ...responses }
const listSchema = {
  tags,
  summary:
    'The same as `POST /api/service/users/search`; use that: logs of proxies and tools have the URLs of requests',
  querystring: ServiceUserQuery,
  response: found,
}
const searchSchema = {
  tags,
  summary:
    'Users, a page at a time. `search` finds them by the beginning of a name, `email` finds one user. Changes nothing',
  body: ServiceUserSearch,
  response: found,
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

  const find = async (query: Static<typeof ServiceUserSearch>) => {
    const { email, secondFactor, ...search } = query
    if (email !== undefined)
      return Object.keys(query).length === 1
        ? foundBody(await users.findByEmail(email))
        : refuse('bad_request', { message: 'email cannot be combined with other parameters' })
    const page = await userSearch.page({ ...search, factor: secondFactor })
    return isRefused(page) ? page : { users: page.users.map(listedBody), next: page.next }
  }

  server.get(`${servicePath}/users`, { schema: listSchema, onRequest }, async (request, reply) => {
    const { limit, ...query } = request.query
    return answer(reply, await find({ ...query, ...(limit !== undefined && { limit: Number(limit) }) }))
  })
  server.post(`${servicePath}/users/search`, { schema: searchSchema, onRequest }, async (request, reply) =>
    answer(reply, await find(request.body)),
  )
}
