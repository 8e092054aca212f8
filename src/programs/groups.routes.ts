import { isRefused, refuse } from '../contract/outcome.js'
import { NoContent } from '../contract/schemas.js'
import { ServiceGroup, ServiceGroupName, ServiceGroups, servicePath } from '../contract/service.js'
import { route } from '../http/route.js'
import type { Server } from '../http/server.js'
import type { App } from '../service/open-http.js'
import { groupBody } from './access-bodies.js'

export const serviceGroupsRoutes = (server: Server, app: App) => {
  const { serviceCallers, groups, groupChanges, administrators } = app
  const guard = [serviceCallers.withScope('groups')]
  const tag = 'for other programs'

  route(server, `GET ${servicePath}/groups`, {
    guard,
    tag,
    summary: 'Groups, and how many members each has',
    refuses: [],
    answers: { 200: ServiceGroups },
    handle: async () => {
      const roles = await administrators.roles()
      return { groups: (await groups.list()).map((group) => groupBody(group, roles)) }
    },
  })

  route(server, `POST ${servicePath}/groups`, {
    guard,
    tag,
    summary: 'Make a group',
    body: ServiceGroupName,
    refuses: [],
    answers: { 200: ServiceGroup, 201: ServiceGroup },
    handle: async ({ body: { name }, request, reply }) => {
      const isNew = await groups.add(name, serviceCallers.actingClient(request))
      const group = (await groups.list()).find((each) => each.name === name)
      if (!group) return refuse('not_found')
      reply.status(isNew ? 201 : 200)
      return groupBody(group, await administrators.roles())
    },
  })

  route(server, `DELETE ${servicePath}/groups`, {
    guard,
    tag,
    summary: 'Delete a group that has no members',
    body: ServiceGroupName,
    refuses: ['group_in_use', 'group_has_members', 'set_by_file'],
    answers: { 204: NoContent },
    handle: async ({ body: { name }, request }) => {
      const client = serviceCallers.actingClient(request)
      const deleted = await groupChanges.deleteGroup(client, name, { alsoWithMembers: false })
      if (!isRefused(deleted)) return undefined
      return deleted.refused === 'no_group' ? refuse('not_found') : deleted
    },
  })
}
