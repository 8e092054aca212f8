import { type Static, Type } from 'typebox'
import { serviceUserBody } from '../accounts/user-bodies.js'
import { userActions } from '../contract/admin/admin-api.js'
import { isRefused, type Refused, refuse } from '../contract/outcome.js'
import {
  ServiceAction,
  ServiceFieldsPatch,
  ServiceGroupsPatch,
  type ServiceListedUser,
  ServiceUserFields,
  ServiceUserFound,
  ServiceUserGroups,
  ServiceUserQuery,
  ServiceUserSearch,
  ServiceUserState,
  ServiceUsers,
  servicePath,
} from '../contract/service.js'
import { route } from '../http/route.js'
import type { Server } from '../http/server.js'
import { isUuid } from '../lib/uuid.js'
import type { App } from '../service/open-http.js'
import { createUserSearch, type FoundUser } from '../users/search.js'
import type { User } from '../users/users.js'
import { cleanReason } from './service-callers.js'

const tag = 'for other programs'
const params = Type.Object({ id: Type.String() })

export const serviceUsersRoutes = (server: Server, app: App) => {
  const { serviceCallers, users, profileFields } = app
  const userSearch = createUserSearch(app)
  const guard = [serviceCallers.withScope('users:read')]

  const foundBody = (user: User | undefined) =>
    user ? { user: serviceUserBody(user, profileFields) } : refuse('not_found')

  const listedBody = (user: FoundUser): ServiceListedUser => ({
    ...serviceUserBody(user, profileFields),
    factors: user.factors,
    lastSignInAt: user.lastSignInAt?.toISOString() ?? null,
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
  const found = { 200: Type.Union([ServiceUsers, ServiceUserFound]) }

  route(server, `GET ${servicePath}/users/:id`, {
    guard,
    tag,
    summary: 'A user by id',
    params,
    refuses: [],
    answers: { 200: ServiceUserFound },
    handle: async ({ params: { id } }) => foundBody(isUuid(id) ? await users.findById(id) : undefined),
  })

  route(server, `GET ${servicePath}/users`, {
    guard,
    tag,
    summary:
      'The same as `POST /api/service/users/search`; use that: logs of proxies and tools have the URLs of requests',
    query: ServiceUserQuery,
    refuses: [],
    answers: found,
    handle: ({ query: { limit, ...query } }) =>
      find({ ...query, ...(limit !== undefined && { limit: Number(limit) }) }),
  })

  route(server, `POST ${servicePath}/users/search`, {
    guard,
    tag,
    summary:
      'Users, a page at a time. `search` finds them by the beginning of a name, `email` finds one user. Changes nothing',
    body: ServiceUserSearch,
    refuses: [],
    answers: found,
    handle: ({ body }) => find(body),
  })
}

const actionSummaries = {
  disable: 'Prevent a user from signing in, and end their sessions',
  enable: 'Let a disabled user sign in again, unless the account was locked down: that is for administrators',
} as const

const notFound = refuse('not_found')

/** The account after the change, as `bodyOf` shows it, or the refusal. */
const answerOf = <Outcome extends { user: User } | Refused, Body>(changed: Outcome, bodyOf: (user: User) => Body) => {
  if (!isRefused(changed)) return { user: bodyOf((changed as { user: User }).user) }
  return changed.refused === 'no_user' ? notFound : (changed as Exclude<typeof changed, Refused<'no_user'>>)
}

const actionRoutes = (server: Server, { serviceCallers, operatorChanges }: App) => {
  for (const name of Object.keys(actionSummaries) as (keyof typeof actionSummaries)[])
    route(server, `POST ${servicePath}/users/:id/${name}`, {
      guard: [serviceCallers.withScope('users:write')],
      tag,
      summary: actionSummaries[name],
      params,
      body: ServiceAction,
      preValidation: cleanReason,
      refuses: ['administrators_account', 'reason_required', 'locked_down', 'too_many_mails'],
      answers: { 200: ServiceUserState },
      handle: async ({ params: { id: userId }, body: { reason }, request }) => {
        if (!isUuid(userId)) return notFound
        if (reason === undefined && userActions[name].needsReason) return refuse('reason_required')
        const client = serviceCallers.actingClient(request, { reason })
        const changed = await operatorChanges[name]({ userId, client })
        return answerOf(changed, ({ id, disabled }) => ({ id, disabled }))
      },
    })
}

const fieldsRoute = (server: Server, { serviceCallers, fieldChanges, profileFields }: App) =>
  route(server, `PATCH ${servicePath}/users/:id/fields`, {
    guard: [serviceCallers.withScope('users:write')],
    tag,
    summary: 'Change the profile fields of a user',
    params,
    body: ServiceFieldsPatch,
    preValidation: cleanReason,
    refuses: ['administrators_account', 'invalid_fields'],
    answers: { 200: ServiceUserFields },
    handle: async ({ params: { id: userId }, body: { fields, reason }, request }) => {
      if (!isUuid(userId)) return notFound
      if (Object.keys(fields).length === 0) return refuse('bad_request', { message: 'fields names no field' })
      const client = serviceCallers.actingClient(request, { reason })
      const changed = await fieldChanges.byOperator({ userId, client }, fields)
      const changedFields = (user: User) =>
        Object.fromEntries(
          Object.entries(profileFields.knownValues(user.fields)).filter(([key]) => Object.hasOwn(fields, key)),
        )
      return answerOf(changed, (user) => ({ id: user.id, fields: changedFields(user) }))
    },
  })

const groupsRoute = (server: Server, { serviceCallers, groupChanges, administrators }: App) => {
  const refusalOf = async ({ add = [], remove = [], reason }: ServiceGroupsPatch) => {
    if (add.length + remove.length === 0) return refuse('bad_request', { message: 'add and remove name no group' })
    if (remove.length > 0 && reason === undefined) return refuse('reason_required')
    if (add.some((name) => remove.includes(name)))
      return refuse('bad_request', { message: 'add and remove name the same group' })
    // Otherwise a stolen key could make a user an administrator.
    const { roleOf } = await administrators.roles()
    return [...add, ...remove].some(roleOf)
      ? refuse('group_of_administrators', { message: 'A service key cannot decide who is an administrator' })
      : undefined
  }

  route(server, `PATCH ${servicePath}/users/:id/groups`, {
    guard: [serviceCallers.withScope('groups')],
    tag,
    summary: 'Change the groups of a user',
    params,
    body: ServiceGroupsPatch,
    preValidation: cleanReason,
    refuses: ['administrators_account', 'reason_required', 'no_group', 'too_many_groups', 'group_of_administrators'],
    answers: { 200: ServiceUserGroups },
    handle: async ({ params: { id: userId }, body, request }) => {
      const { reason, ...groupChange } = body
      const refusal = isUuid(userId) ? await refusalOf(body) : notFound
      if (refusal) return refusal
      const client = serviceCallers.actingClient(request, { reason })
      const changed = await groupChanges.change({ userId, client }, groupChange)
      return answerOf(changed, ({ id, groups }) => ({ id, groups: [...groups] }))
    },
  })
}

/** The changes that operators and administrators can make, too. Here a service key is the actor. */
export const serviceUserChangesRoutes = (server: Server, app: App) => {
  actionRoutes(server, app)
  fieldsRoute(server, app)
  groupsRoute(server, app)
}
