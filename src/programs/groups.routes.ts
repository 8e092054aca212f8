import type { createGroupChanges } from '../accounts/operator-changes.js'
import type { AdminGroup, AdminInvitation } from '../contract/admin/admin-bodies.js'
import { isRefused, refuse } from '../contract/outcome.js'
import { NoContent } from '../contract/schemas.js'
import { ServiceGroup, ServiceGroupName, ServiceGroups, servicePath } from '../contract/service.js'
import type { Group, Groups } from '../groups/groups.js'
import { routeRefusals } from '../http/route.js'
import type { Server } from '../http/server.js'
import type { Invitation } from '../registration/invitations.js'
import type { Administrators, AdminRoles } from '../sessions/administrators.js'
import type { Guards } from '../sessions/guards.js'
import { type ServiceCallers, serviceRefusals } from './service-callers.js'

/** An invitation as administrators and other programs see it. */
export const invitationBody = (invitation: Invitation): AdminInvitation => ({
  email: invitation.email,
  groups: [...invitation.groups],
  madeBy: invitation.madeBy,
  invitedBy: invitation.invitedBy,
  returnTo: invitation.returnTo,
  createdAt: invitation.createdAt.toISOString(),
  expiresAt: invitation.expiresAt.toISOString(),
})

export const groupBody = ({ name, createdAt, members }: Group, { roleOf }: AdminRoles): AdminGroup => ({
  name,
  createdAt: createdAt.toISOString(),
  members,
  role: roleOf(name) ?? null,
})

const readRefusals = routeRefusals(...serviceRefusals)
const deletionRefusals = routeRefusals(...serviceRefusals, 'group_in_use', 'group_has_members')

const tags = ['for other programs']
const schemas = {
  list: {
    tags,
    summary: 'Groups, and how many members each has',
    response: { 200: ServiceGroups, ...readRefusals.responses },
  },
  add: {
    tags,
    summary: 'Make a group',
    body: ServiceGroupName,
    response: { 200: ServiceGroup, 201: ServiceGroup, ...readRefusals.responses },
  },
  deletion: {
    tags,
    summary: 'Delete a group that has no members',
    body: ServiceGroupName,
    response: { 204: NoContent, ...deletionRefusals.responses },
  },
}

type Dependencies = {
  guards: Guards
  serviceCallers: ServiceCallers
  groups: Groups
  groupChanges: Pick<ReturnType<typeof createGroupChanges>, 'deleteGroup'>
  administrators: Administrators
}

export const serviceGroupsRoutes = (server: Server, deps: Dependencies) => {
  const { guards, serviceCallers, groups, groupChanges, administrators } = deps
  const path = `${servicePath}/groups`
  const onRequest = guards.service('groups')

  server.get(path, { schema: schemas.list, onRequest }, async () => {
    const roles = await administrators.roles()
    return { groups: (await groups.list()).map((group) => groupBody(group, roles)) }
  })

  server.post(path, { schema: schemas.add, onRequest }, async (request, reply) => {
    const { name } = request.body
    const isNew = await groups.add(name, serviceCallers.actingClient(request))
    const group = (await groups.list()).find((each) => each.name === name)
    return group
      ? reply.status(isNew ? 201 : 200).send(groupBody(group, await administrators.roles()))
      : readRefusals.sendRefusal(reply, refuse('not_found'))
  })

  server.delete(path, { schema: schemas.deletion, onRequest }, async (request, reply) => {
    const client = serviceCallers.actingClient(request)
    const deleted = await groupChanges.deleteGroup(client, request.body.name, { alsoWithMembers: false })
    if (!isRefused(deleted)) return reply.status(204).send()
    return deletionRefusals.sendRefusal(reply, deleted.refused === 'no_group' ? refuse('not_found') : deleted)
  })
}
