import type { FastifyRequest } from 'fastify'
import { type Static, Type } from 'typebox'
import {
  AdminAction,
  AdminDeletion,
  AdminEndToken,
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
import type { Server } from '../http/server.js'
import { isUuid } from '../lib/uuid.js'
import type { App } from '../service/open-http.js'
import { createUserSearch, type UserSearch } from '../users/search.js'
import { type AdminGuard, adminRoute, type ReadingTrail } from './admin-guard.js'
import { userBody } from './bodies.js'
import type { AdminServices } from './open-admin.js'
import { act, detailsOf, findWithoutAccount, removeUser } from './users.js'

const tag = 'administrators'
const params = Type.Object({ id: Type.String() })

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

const actionRoutes = (server: Server, app: App & AdminServices, adminGuard: AdminGuard) => {
  for (const name of Object.keys(userActions) as UserAction[])
    adminRoute(server, `POST ${adminPath}/users/:id/${name}`, {
      guard: adminGuard.changeBySupport,
      tag,
      summary: summaries[name],
      params,
      body: AdminAction,
      refuses: [
        'reason_required',
        'account_disabled',
        'mail_is_off',
        'address_not_proven',
        'locked_down',
        'too_many_mails',
      ],
      answers: { 204: NoContent },
      handle: async ({ params: { id }, body: { reason }, request }) => {
        if (!isUuid(id)) return refuse('not_found')
        if (reason === undefined && userActions[name].needsReason) return refuse('reason_required')
        return act(app, name, id, adminGuard.actingClient(request, reason))
      },
    })

  adminRoute(server, `POST ${adminPath}/users/:id/end-token`, {
    guard: adminGuard.changeBySupport,
    tag,
    summary: 'End a personal token of a user, within two seconds at every instance',
    params,
    body: AdminEndToken,
    refuses: [],
    answers: { 204: NoContent },
    handle: async ({ params: { id }, body: { token, reason }, request }) => {
      const context = { userId: id, client: adminGuard.actingClient(request, reason) }
      const ended = isUuid(id) ? await app.personalTokens.endByOperator(context, token) : refuse('not_found')
      return isRefused(ended) ? refuse('not_found') : undefined
    },
  })

  adminRoute(server, `POST ${adminPath}/users/:id/delete`, {
    guard: adminGuard.changeByAdmin,
    tag,
    summary: 'Delete a user and everything about them',
    params,
    body: AdminDeletion,
    refuses: ['other_username'],
    answers: { 204: NoContent },
    handle: async ({ params: { id }, body: { username }, request }) =>
      isUuid(id) ? removeUser(app, id, username, adminGuard.actingClient(request)) : refuse('not_found'),
  })
}

const groupsRoute = (server: Server, app: App, adminGuard: AdminGuard, userSearch: UserSearch) => {
  const { groupChanges, administrators } = app

  adminRoute(server, `PATCH ${adminPath}/users/:id/groups`, {
    guard: adminGuard.changeByAdmin,
    tag,
    summary:
      'Change the groups of a user. Those of administrators and support need a second factor of the last 5 minutes, and are mailed to all administrators',
    params,
    body: AdminGroupsPatch,
    refuses: ['reason_required', 'fresh_sign_in_required', 'no_group', 'too_many_groups'],
    answers: { 200: AdminUser },
    handle: async ({ params: { id }, body: { add = [], remove = [], reason }, request }) => {
      if (!isUuid(id)) return refuse('not_found')
      const { roleOf } = await administrators.roles()
      const namesAdministrators = [...add, ...remove].some((name) => roleOf(name) !== undefined)
      const staleRefusal = namesAdministrators ? await adminGuard.refuseWithoutNewProof(request) : undefined
      if (staleRefusal) return staleRefusal
      const needsReason = remove.length > 0 || namesAdministrators
      if (needsReason && reason === undefined) return refuse('reason_required')
      if (add.some((name) => remove.includes(name)))
        return refuse('bad_request', { message: 'add and remove name the same group' })
      const context = { userId: id, client: adminGuard.actingClient(request, reason) }
      const changed = await groupChanges.change(context, { add, remove })
      if (isRefused(changed)) return changed.refused === 'no_user' ? refuse('not_found') : changed
      const user = await userSearch.find(id)
      return user ? userBody(user) : refuse('not_found')
    },
  })
}

const fieldsRoute = (server: Server, { fieldChanges, profileFields }: App, adminGuard: AdminGuard) =>
  adminRoute(server, `PATCH ${adminPath}/users/:id/fields`, {
    guard: adminGuard.changeBySupport,
    tag,
    summary: 'Change the profile fields of a user',
    description: 'Support changes those that users edit themselves; administrators change all.',
    params,
    body: AdminFieldsPatch,
    refuses: ['invalid_fields'],
    answers: { 200: AdminFields },
    handle: async ({ params: { id }, body: { fields }, request }) => {
      if (!isUuid(id)) return refuse('not_found')
      const { role } = adminGuard.administratorOf(request)
      const context = { userId: id, client: adminGuard.actingClient(request) }
      const changed = await fieldChanges.byOperator(context, fields, role === 'admin' ? 'administrators' : 'user')
      if (!isRefused(changed)) return { fields: profileFields.knownValues(changed.user.fields) }
      return changed.refused === 'no_user' ? refuse('not_found') : changed
    },
  })

const readRoutes = (
  server: Server,
  app: App & AdminServices,
  adminGuard: AdminGuard,
  userSearch: UserSearch,
  readingTrail: ReadingTrail,
) => {
  const findUsers = async (request: FastifyRequest, { after, order, ...filters }: Static<typeof AdminUserQuery>) => {
    const page = await userSearch.page({ after, order, ...filters })
    if (isRefused(page)) return page
    await readingTrail(request, { kind: 'users_searched', filters })
    const { search } = filters
    const hasNoMatch = page.users.length === 0 && search !== undefined && after === undefined
    return {
      users: page.users.map(userBody),
      next: page.next,
      count: after === undefined ? await userSearch.count(filters) : null,
      withoutAccount: hasNoMatch ? await findWithoutAccount(app, search) : null,
    }
  }

  adminRoute(server, `GET ${adminPath}/users`, {
    guard: adminGuard.read,
    tag,
    summary: 'The same as `POST …/users/search`; use that: logs of proxies have the URLs of requests',
    query: AdminUserQuery,
    refuses: [],
    answers: { 200: AdminUsers },
    handle: ({ request, query }) => findUsers(request, query),
  })

  adminRoute(server, `POST ${adminPath}/users/search`, {
    guard: adminGuard.search,
    tag,
    summary: 'Users, a page at a time. `search` finds them by the beginning of a name. Changes nothing',
    body: AdminUserQuery,
    refuses: [],
    answers: { 200: AdminUsers },
    handle: ({ request, body }) => findUsers(request, body),
  })

  adminRoute(server, `GET ${adminPath}/users/:id`, {
    guard: adminGuard.read,
    tag,
    summary: 'Everything about a user, and why they cannot sign in',
    params,
    refuses: [],
    answers: { 200: AdminUserDetails },
    handle: async ({ params: { id }, request }) => {
      const caller = { ...app.callers.of(request), role: adminGuard.administratorOf(request).role }
      const user = isUuid(id) ? await detailsOf(app, userSearch, id, caller) : undefined
      if (!user) return refuse('not_found')
      await readingTrail(request, { kind: 'user_viewed', userId: user.id })
      return user
    },
  })
}

export const adminUsersRoutes = (
  server: Server,
  app: App & AdminServices,
  adminGuard: AdminGuard,
  readingTrail: ReadingTrail,
) => {
  const userSearch = createUserSearch(app)
  readRoutes(server, app, adminGuard, userSearch, readingTrail)
  actionRoutes(server, app, adminGuard)
  groupsRoute(server, app, adminGuard, userSearch)
  fieldsRoute(server, app, adminGuard)
}
