import { Type } from 'typebox'
import {
  AdminNewResource,
  AdminResource,
  AdminResourceDeletion,
  AdminResourcePatch,
  AdminResources,
  adminPath,
} from '../contract/admin/admin-bodies.js'
import { isRefused, refuse } from '../contract/outcome.js'
import { NoContent } from '../contract/schemas.js'
import type { Server } from '../http/server.js'
import { type Resource, resourceChangeFrom, resourceFrom } from '../openid/resources/resource.js'
import type { App } from '../service/open-http.js'
import { type AdminGuard, adminRoute } from './admin-guard.js'
import { resourceBody } from './bodies.js'
import { expectedVersion, resourceAnswer, tag, takesAway } from './configuration-answers.js'
import type { AdminServices } from './open-admin.js'

type Needed = App & AdminServices

const resourceId = Type.Object({ id: Type.String({ maxLength: 200 }) })

const describer =
  ({ resourceChanges, config }: Needed) =>
  (resource: Resource) =>
    resourceBody(resource, resourceChanges.versionOf(resource), config.publicUrl)

const readAndAddRoutes = (server: Server, app: Needed, adminGuard: AdminGuard) => {
  const { resources, resourceChanges } = app
  const describe = describer(app)

  adminRoute(server, `GET ${adminPath}/resources`, {
    guard: adminGuard.read,
    tag,
    summary: 'Resources, for which programs get tokens',
    refuses: [],
    answers: { 200: AdminResources },
    handle: async () => ({ resources: (await resources.list()).map(describe) }),
  })

  adminRoute(server, `POST ${adminPath}/resources`, {
    guard: adminGuard.changeConfiguration,
    tag,
    summary: 'Add a resource; mails all administrators',
    body: AdminNewResource,
    refuses: ['applications_off', 'bad_request', 'invalid_configuration', 'no_group', 'resource_taken'],
    answers: { 201: AdminResource },
    handle: async ({ body: { name, reason, ...shape }, request }) => {
      const added = await resourceChanges.add(resourceFrom(name, shape), adminGuard.actingClient(request, reason))
      if (!isRefused(added)) return describe(added.resource)
      return added.refused === 'no_group' || added.refused === 'resource_taken' ? added : resourceAnswer(added)
    },
  })
}

const changeRoutes = (server: Server, app: Needed, adminGuard: AdminGuard) => {
  const { resources, resourceChanges, config } = app
  const describe = describer(app)

  adminRoute(server, `PATCH ${adminPath}/resources/:id`, {
    guard: adminGuard.changeAccess,
    tag,
    summary: 'Change a resource; mails all administrators. Needs If-Match',
    params: resourceId,
    body: AdminResourcePatch,
    refuses: [
      'bad_request',
      'reason_required',
      'applications_off',
      'invalid_configuration',
      'no_group',
      'resource_taken',
      'set_by_file',
      'changed_meanwhile',
    ],
    answers: { 200: AdminResource },
    /** Programs whose users may not use the resource any more lose their access at once. */
    handle: async ({ params: { id }, body: { reason, endAccess: endsAccess = false, ...patch }, request }) => {
      const isAccessOnly = Object.keys(patch).every((name) => name === 'allow') && !endsAccess
      if (config.adminApplications === 'off' && !isAccessOnly) return refuse('applications_off')
      const version = expectedVersion(request)
      if (isRefused(version)) return version
      const before = await resources.find(id)
      if (!before) return refuse('not_found')
      const change = resourceChangeFrom(patch)
      if ((endsAccess || takesAway(before, change)) && reason === undefined) return refuse('reason_required')
      const client = adminGuard.actingClient(request, reason)
      const changed = await resourceChanges.change(id, change, client, { expectedVersion: version, endsAccess })
      if (!isRefused(changed)) return describe(changed.resource)
      switch (changed.refused) {
        case 'no_resource':
          return refuse('not_found')
        case 'no_group':
        case 'resource_taken':
        case 'set_by_file':
        case 'changed_meanwhile':
          return changed
        case 'bad_name':
        case 'bad_resource':
        case 'bad_scope':
        case 'too_many_scopes':
          return resourceAnswer(changed)
      }
    },
  })

  adminRoute(server, `DELETE ${adminPath}/resources/:id`, {
    guard: adminGuard.changeConfiguration,
    tag,
    summary: 'Delete a resource with the sessions of programs for it; mails all administrators. Needs If-Match',
    params: resourceId,
    body: AdminResourceDeletion,
    refuses: ['bad_request', 'applications_off', 'set_by_file', 'changed_meanwhile'],
    answers: { 204: NoContent },
    handle: async ({ params: { id }, body: { name }, request }) => {
      const version = expectedVersion(request)
      if (isRefused(version)) return version
      const resource = await resources.find(id)
      if (!resource) return refuse('not_found')
      if (resource.name !== name)
        return refuse('bad_request', { message: 'This is not the name of the resource. Nothing was deleted.' })
      const deleted = await resourceChanges.delete(id, adminGuard.actingClient(request), { expectedVersion: version })
      if (!isRefused(deleted)) return undefined
      return deleted.refused === 'no_resource' ? refuse('not_found') : deleted
    },
  })
}

/** Administrators change resources, with the same proof, events and mails as for applications. */
export const adminResourcesRoutes = (server: Server, app: Needed, adminGuard: AdminGuard) => {
  readAndAddRoutes(server, app, adminGuard)
  changeRoutes(server, app, adminGuard)
}
