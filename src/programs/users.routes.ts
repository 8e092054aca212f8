import { type Static, Type } from 'typebox'
import type { FieldChanges } from '../account-changes/account-changes.js'
import type { createGroupChanges, OperatorChanges } from '../accounts/operator-changes.js'
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
import { routeRefusals } from '../http/route.js'
import type { Server } from '../http/server.js'
import { isUuid } from '../lib/uuid.js'
import type { Administrators } from '../sessions/administrators.js'
import type { Guards } from '../sessions/guards.js'
import type { ProfileFields } from '../users/profile-fields.js'
import type { FoundUser, UserSearch } from '../users/search.js'
import type { User, Users } from '../users/users.js'
import { cleanReason, type ServiceCallers, serviceChangeRefusals, serviceRefusals } from './service-callers.js'

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

type UsersRouteDependencies = {
  guards: Guards
  users: Pick<Users, 'findById' | 'findByEmail'>
  userSearch: Pick<UserSearch, 'page'>
  profileFields: ProfileFields
}

export const serviceUsersRoutes = (
  server: Server,
  { guards, users, userSearch, profileFields }: UsersRouteDependencies,
) => {
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

const actionRefusals = routeRefusals(...serviceChangeRefusals, 'reason_required', 'locked_down', 'too_many_mails')
const fieldsPatchRefusals = routeRefusals(...serviceChangeRefusals, 'invalid_fields')
const groupsPatchRefusals = routeRefusals(
  ...serviceChangeRefusals,
  'reason_required',
  'no_group',
  'too_many_groups',
  'group_of_administrators',
)
const params = Type.Object({ id: Type.String() })

const actionSummaries = {
  disable: 'Prevent a user from signing in, and end their sessions',
  enable: 'Let a disabled user sign in again, unless the account was locked down: that is for administrators',
} as const

const schemas = {
  fields: {
    tags,
    summary: 'Change the profile fields of a user',
    params,
    body: ServiceFieldsPatch,
    response: { 200: ServiceUserFields, ...fieldsPatchRefusals.responses },
  },
  groups: {
    tags,
    summary: 'Change the groups of a user',
    params,
    body: ServiceGroupsPatch,
    response: { 200: ServiceUserGroups, ...groupsPatchRefusals.responses },
  },
}

type ChangeUsersRouteDependencies = {
  guards: Guards
  serviceCallers: ServiceCallers
  operatorChanges: Pick<OperatorChanges, keyof typeof actionSummaries>
  fieldChanges: Pick<FieldChanges, 'byOperator'>
  groupChanges: Pick<ReturnType<typeof createGroupChanges>, 'change'>
  administrators: Pick<Administrators, 'roles'>
  profileFields: Pick<ProfileFields, 'knownValues'>
}

const notFound = refuse('not_found')

/** The account after the change, as `bodyOf` shows it, or the refusal. */
const answerOf = <Outcome extends { user: User } | Refused, Body>(changed: Outcome, bodyOf: (user: User) => Body) => {
  if (!isRefused(changed)) return { user: bodyOf((changed as { user: User }).user) }
  return changed.refused === 'no_user' ? notFound : (changed as Exclude<typeof changed, Refused<'no_user'>>)
}

const registerActions = (server: Server, { guards, serviceCallers, operatorChanges }: ChangeUsersRouteDependencies) => {
  const onRequest = guards.service('users:write')

  for (const name of Object.keys(actionSummaries) as (keyof typeof actionSummaries)[]) {
    const response = { 200: ServiceUserState, ...actionRefusals.responses }
    const schema = { tags, summary: actionSummaries[name], params, body: ServiceAction, response }
    server.post(
      `${servicePath}/users/:id/${name}`,
      { schema, onRequest, preValidation: cleanReason },
      async (request, reply) => {
        const { id: userId } = request.params
        const { reason } = request.body
        if (!isUuid(userId)) return actionRefusals.sendRefusal(reply, notFound)
        if (reason === undefined && userActions[name].needsReason)
          return actionRefusals.sendRefusal(reply, refuse('reason_required'))
        const client = serviceCallers.actingClient(request, { reason })
        const changed = await operatorChanges[name]({ userId, client })
        return actionRefusals.answer(
          reply,
          answerOf(changed, ({ id, disabled }) => ({ id, disabled })),
        )
      },
    )
  }
}

const registerFields = (
  server: Server,
  { guards, serviceCallers, fieldChanges, profileFields }: ChangeUsersRouteDependencies,
) => {
  const onRequest = guards.service('users:write')

  server.patch(
    `${servicePath}/users/:id/fields`,
    { schema: schemas.fields, onRequest, preValidation: cleanReason },
    async (request, reply) => {
      const { id: userId } = request.params
      const { fields, reason } = request.body
      if (!isUuid(userId)) return fieldsPatchRefusals.sendRefusal(reply, notFound)
      if (Object.keys(fields).length === 0)
        return fieldsPatchRefusals.sendRefusal(reply, refuse('bad_request', { message: 'fields names no field' }))
      const client = serviceCallers.actingClient(request, { reason })
      const changed = await fieldChanges.byOperator({ userId, client }, fields)
      const changedFields = (user: User) =>
        Object.fromEntries(
          Object.entries(profileFields.knownValues(user.fields)).filter(([key]) => Object.hasOwn(fields, key)),
        )
      return fieldsPatchRefusals.answer(
        reply,
        answerOf(changed, (user) => ({ id: user.id, fields: changedFields(user) })),
      )
    },
  )
}

const registerGroups = (server: Server, deps: ChangeUsersRouteDependencies) => {
  const { guards, serviceCallers, groupChanges, administrators } = deps
  const onRequest = guards.service('groups')

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

  server.patch(
    `${servicePath}/users/:id/groups`,
    { schema: schemas.groups, onRequest, preValidation: cleanReason },
    async (request, reply) => {
      const { id: userId } = request.params
      const { reason, ...groupChange } = request.body
      const refusal = isUuid(userId) ? await refusalOf(request.body) : notFound
      if (refusal) return groupsPatchRefusals.sendRefusal(reply, refusal)
      const client = serviceCallers.actingClient(request, { reason })
      const changed = await groupChanges.change({ userId, client }, groupChange)
      return groupsPatchRefusals.answer(
        reply,
        answerOf(changed, ({ id, groups }) => ({ id, groups: [...groups] })),
      )
    },
  )
}

/** The changes that operators and administrators can make, too. Here a service key is the actor. */
export const serviceUserChangesRoutes = (server: Server, deps: ChangeUsersRouteDependencies) => {
  registerActions(server, deps)
  registerFields(server, deps)
  registerGroups(server, deps)
}
