import type { FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import type { FieldChanges } from '../account-changes/account-changes.js'
import type { createGroupChanges } from '../accounts/operator-changes.js'
import {
  AdminAction,
  AdminDeletion,
  AdminFields,
  AdminFieldsPatch,
  AdminGroupsPatch,
  AdminUser,
  AdminUserDetails,
  AdminUserQuery,
  AdminUsers,
  adminPath,
  type UserAction,
  userActions,
} from '../contract/admin/admin-bodies.js'
import { isRefused, refuse } from '../contract/outcome.js'
import { NoContent } from '../contract/schemas.js'
import { routeRefusals } from '../http/route.js'
import type { Server } from '../http/server.js'
import { isUuid } from '../lib/uuid.js'
import type { Administrators } from '../sessions/administrators.js'
import type { Callers } from '../sessions/callers.js'
import type { ProfileFields } from '../users/profile-fields.js'
import type { UserSearch } from '../users/search.js'
import {
  type AdminGuard,
  adminChangeRefusals,
  adminReadRefusals,
  adminSearchRefusals,
  type ReadingTrail,
} from './admin-guard.js'
import { userBody } from './bodies.js'
import type { createFindWithoutAccount, createUserActions, createUserDetails } from './users.js'

const readRefusals = routeRefusals(...adminReadRefusals)
const searchRefusals = routeRefusals(...adminSearchRefusals)
const actionRefusals = routeRefusals(
  ...adminChangeRefusals,
  'reason_required',
  'account_disabled',
  'mail_is_off',
  'address_not_proven',
  'locked_down',
  'too_many_mails',
)
const groupsPatchRefusals = routeRefusals(...adminChangeRefusals, 'reason_required', 'no_group', 'too_many_groups')
const fieldsPatchRefusals = routeRefusals(...adminChangeRefusals, 'invalid_fields')
const deletionRefusals = routeRefusals(...adminChangeRefusals, 'other_username')

const tags = ['administrators']
const params = Type.Object({ id: Type.String() })

const schemas = {
  list: {
    tags,
    summary: 'The same as `POST …/users/search`; use that: logs of proxies have the URLs of requests',
    querystring: AdminUserQuery,
    response: { 200: AdminUsers, ...readRefusals.responses },
  },
  search: {
    tags,
    summary: 'Users, a page at a time. `search` finds them by the beginning of a name. Changes nothing',
    body: AdminUserQuery,
    response: { 200: AdminUsers, ...searchRefusals.responses },
  },
  details: {
    tags,
    summary: 'Everything about a user, and why they cannot sign in',
    params,
    response: { 200: AdminUserDetails, ...readRefusals.responses },
  },
  groups: {
    tags,
    summary: 'Change the groups of a user',
    params,
    body: AdminGroupsPatch,
    response: { 200: AdminUser, ...groupsPatchRefusals.responses },
  },
  fields: {
    tags,
    summary: 'Change the profile fields of a user',
    description: 'Support changes those that users edit themselves; administrators change all.',
    params,
    body: AdminFieldsPatch,
    response: { 200: AdminFields, ...fieldsPatchRefusals.responses },
  },
  deletion: {
    tags,
    summary: 'Delete a user and everything about them',
    params,
    body: AdminDeletion,
    response: { 204: NoContent, ...deletionRefusals.responses },
  },
}

const summaries: Record<UserAction, string> = {
  disable: 'Prevent a user from signing in, and end their sessions',
  enable:
    'Let a disabled user sign in again. One that was locked down chooses a new password with a mailed link, and only administrators can enable them',
  'end-sessions': 'Sign a user out everywhere',
  'reset-factors': 'Remove the second factors and passkeys of a user',
  'send-reset': 'Mail a user a link to choose a new password',
  'clear-limits': 'Clear the limits that a user has reached, so that they can try again now. Limits of networks stay',
  'lock-down': 'Disable a user, end their sessions and authorizations, and void links and codes that were mailed',
}

type ChangeDependencies = { adminGuard: AdminGuard; userActions: ReturnType<typeof createUserActions> }

/** Registers the changes of a user. */
const registerChanges = (server: Server, deps: ChangeDependencies) => {
  const { adminGuard, userActions: actions } = deps

  for (const name of Object.keys(userActions) as UserAction[]) {
    const response = { 204: NoContent, ...actionRefusals.responses }
    const schema = { tags, summary: summaries[name], params, body: AdminAction, response }
    server.post(`${adminPath}/users/:id/${name}`, adminGuard.changeBySupport({ schema }), async (request, reply) => {
      const { id } = request.params
      const { reason } = request.body
      if (!isUuid(id)) return actionRefusals.sendRefusal(reply, refuse('not_found'))
      if (reason === undefined && userActions[name].needsReason)
        return actionRefusals.sendRefusal(reply, refuse('reason_required'))
      const refused = await actions.act(name, id, adminGuard.actingClient(request, reason))
      return refused ? actionRefusals.sendRefusal(reply, refused) : reply.status(204).send()
    })
  }

  const deleteOptions = adminGuard.changeByAdmin({ schema: schemas.deletion })
  server.post(`${adminPath}/users/:id/delete`, deleteOptions, async (request, reply) => {
    const { id } = request.params
    if (!isUuid(id)) return deletionRefusals.sendRefusal(reply, refuse('not_found'))
    const refused = await actions.remove(id, request.body.username, adminGuard.actingClient(request))
    return refused ? deletionRefusals.sendRefusal(reply, refused) : reply.status(204).send()
  })
}

type GroupDependencies = {
  adminGuard: AdminGuard
  userSearch: UserSearch
  groupChanges: ReturnType<typeof createGroupChanges>
  administrators: Administrators
}

const registerGroups = (server: Server, deps: GroupDependencies) => {
  const { adminGuard, userSearch, groupChanges, administrators } = deps
  const groupsOptions = adminGuard.changeByAdmin({ schema: schemas.groups })
  server.patch(`${adminPath}/users/:id/groups`, groupsOptions, async (request, reply) => {
    const { id } = request.params
    const { add = [], remove = [], reason } = request.body
    if (!isUuid(id)) return groupsPatchRefusals.sendRefusal(reply, refuse('not_found'))
    const { roleOf } = await administrators.roles()
    const needsReason = remove.length > 0 || add.some((name) => roleOf(name) !== undefined)
    if (needsReason && reason === undefined) return groupsPatchRefusals.sendRefusal(reply, refuse('reason_required'))
    if (add.some((name) => remove.includes(name)))
      return groupsPatchRefusals.sendRefusal(
        reply,
        refuse('bad_request', { message: 'add and remove name the same group' }),
      )
    const context = { userId: id, client: adminGuard.actingClient(request, reason) }
    const changed = await groupChanges.change(context, { add, remove })
    if (isRefused(changed))
      return groupsPatchRefusals.sendRefusal(reply, changed.refused === 'no_user' ? refuse('not_found') : changed)
    const user = await userSearch.find(id)
    return user ? userBody(user) : groupsPatchRefusals.sendRefusal(reply, refuse('not_found'))
  })
}

type FieldDependencies = {
  adminGuard: AdminGuard
  fieldChanges: FieldChanges
  profileFields: ProfileFields
}

const registerFields = (server: Server, { adminGuard, fieldChanges, profileFields }: FieldDependencies) => {
  const fieldsOptions = adminGuard.changeBySupport({ schema: schemas.fields })
  server.patch(`${adminPath}/users/:id/fields`, fieldsOptions, async (request, reply) => {
    const { id } = request.params
    if (!isUuid(id)) return fieldsPatchRefusals.sendRefusal(reply, refuse('not_found'))
    const { role } = adminGuard.administratorOf(request)
    const context = { userId: id, client: adminGuard.actingClient(request) }
    const changed = await fieldChanges.byOperator(
      context,
      request.body.fields,
      role === 'admin' ? 'administrators' : 'user',
    )
    if (!isRefused(changed)) return { fields: profileFields.knownValues(changed.user.fields) }
    return fieldsPatchRefusals.sendRefusal(reply, changed.refused === 'no_user' ? refuse('not_found') : changed)
  })
}

type ReadDependencies = {
  adminGuard: AdminGuard
  callers: Callers
  userSearch: UserSearch
  userDetails: ReturnType<typeof createUserDetails>
  findWithoutAccount: ReturnType<typeof createFindWithoutAccount>
  readingTrail: ReadingTrail
}

export const adminUsersRoutes = (
  server: Server,
  deps: ReadDependencies & ChangeDependencies & GroupDependencies & FieldDependencies,
) => {
  const { adminGuard, callers, userSearch, userDetails, findWithoutAccount, readingTrail } = deps

  const findUsers = async (request: FastifyRequest, { after, ...filters }: Static<typeof AdminUserQuery>) => {
    const page = await userSearch.page({ after, ...filters })
    if (isRefused(page)) return page
    await readingTrail(request, { kind: 'users_searched', filters })
    const { search } = filters
    const hasNoMatch = page.users.length === 0 && search !== undefined && after === undefined
    return {
      users: page.users.map(userBody),
      next: page.next,
      withoutAccount: hasNoMatch ? await findWithoutAccount(search) : null,
    }
  }

  server.get(`${adminPath}/users`, adminGuard.read({ schema: schemas.list }), async (request, reply) =>
    readRefusals.answer(reply, await findUsers(request, request.query)),
  )
  server.post(`${adminPath}/users/search`, adminGuard.search({ schema: schemas.search }), async (request, reply) =>
    searchRefusals.answer(reply, await findUsers(request, request.body)),
  )

  server.get(`${adminPath}/users/:id`, adminGuard.read({ schema: schemas.details }), async (request, reply) => {
    const { id } = request.params
    const caller = { ...callers.of(request), role: adminGuard.administratorOf(request).role }
    const user = isUuid(id) ? await userDetails(id, caller) : undefined
    if (!user) return readRefusals.sendRefusal(reply, refuse('not_found'))
    await readingTrail(request, { kind: 'user_viewed', userId: user.id })
    return user
  })

  registerChanges(server, deps)
  registerGroups(server, deps)
  registerFields(server, deps)
}
