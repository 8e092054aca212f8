import { Type } from 'typebox'
import type { createGroupChanges } from '../accounts/operator-changes.js'
import type { ApplicationChanges } from '../applications/application-changes.js'
import type { ApplicationErrors } from '../applications/application-errors.js'
import type { ApplicationSecrets } from '../applications/application-secrets.js'
import type { Application, Applications } from '../applications/applications.js'
import {
  AdminApplication,
  AdminApplicationPatch,
  AdminApplications,
  AdminGroup,
  AdminGroupDeletion,
  AdminGroups,
  AdminInvitation,
  AdminInvitations,
  AdminInvite,
  AdminNewGroup,
  AdminUninvite,
  adminPath,
} from '../contract/admin/admin-bodies.js'
import { isRefused, refuse } from '../contract/outcome.js'
import { NoContent } from '../contract/schemas.js'
import type { Groups } from '../groups/groups.js'
import type { Client } from '../http/request-origin.js'
import { routeRefusals } from '../http/route.js'
import type { Server } from '../http/server.js'
import { groupBody, invitationBody } from '../programs/groups.routes.js'
import type { Invitations } from '../registration/invitations.js'
import type { Administrators } from '../sessions/administrators.js'
import { readEmail } from '../users/names.js'
import { type AdminGuard, adminChangeRefusals, adminReadRefusals } from './admin-guard.js'
import { applicationBody } from './bodies.js'

const readRefusals = routeRefusals(...adminReadRefusals)
const inviteRefusals = routeRefusals(
  ...adminChangeRefusals,
  'email_shape',
  'mail_is_off',
  'has_account',
  'email_reserved',
  'no_group',
  'too_many_groups',
  'group_of_administrators',
  'too_many_mails',
)
const uninviteRefusals = routeRefusals(...adminChangeRefusals, 'email_shape')
const newGroupRefusals = routeRefusals(...adminChangeRefusals)
const groupDeletionRefusals = routeRefusals(
  ...adminChangeRefusals,
  'reason_required',
  'group_in_use',
  'group_has_members',
)
const applicationPatchRefusals = routeRefusals(...adminChangeRefusals, 'reason_required', 'no_group')

const tags = ['administrators']

const schemas = {
  invitations: { tags, summary: 'Open invitations', response: { 200: AdminInvitations, ...readRefusals.responses } },
  invite: {
    tags,
    summary: 'Invite an address: the link is in the mail',
    body: AdminInvite,
    response: { 201: AdminInvitation, ...inviteRefusals.responses },
  },
  uninvite: {
    tags,
    summary: 'Withdraw an invitation',
    body: AdminUninvite,
    response: { 204: NoContent, ...uninviteRefusals.responses },
  },
  groups: {
    tags,
    summary: 'Groups, and how many members each has',
    response: { 200: AdminGroups, ...readRefusals.responses },
  },
  newGroup: {
    tags,
    summary: 'Make a group',
    body: AdminNewGroup,
    response: { 200: AdminGroup, 201: AdminGroup, ...newGroupRefusals.responses },
  },
  groupDeletion: {
    tags,
    summary: 'Delete a group',
    body: AdminGroupDeletion,
    response: { 204: NoContent, ...groupDeletionRefusals.responses },
  },
  applications: {
    tags,
    summary: 'Applications with their last errors',
    response: { 200: AdminApplications, ...readRefusals.responses },
  },
  applicationPatch: {
    tags,
    summary: 'Change who may use an application',
    params: Type.Object({ id: Type.String({ maxLength: 200 }) }),
    body: AdminApplicationPatch,
    response: { 200: AdminApplication, ...applicationPatchRefusals.responses },
  },
}

type InvitationDependencies = {
  adminGuard: AdminGuard
  invitations: Invitations
}

const registerInvitations = (server: Server, { adminGuard, invitations }: InvitationDependencies) => {
  const path = `${adminPath}/invitations`

  server.get(path, adminGuard.read({ schema: schemas.invitations }), async () => ({
    invitations: (await invitations.listOpen()).map(invitationBody),
  }))

  server.post(path, adminGuard.changeByAdmin({ schema: schemas.invite }), async (request, reply) => {
    const { language, groups, returnTo } = request.body
    const email = readEmail(request.body.email)
    if (isRefused(email)) return inviteRefusals.sendRefusal(reply, email)
    const client = { ...adminGuard.actingClient(request), ...(language && { language }) }
    const invitation = await invitations.invite(email, client, {
      groups: groups && [...new Set(groups)].sort(),
      returnTo,
    })
    if (isRefused(invitation)) return inviteRefusals.sendRefusal(reply, invitation)
    return reply.status(201).send(invitationBody(invitation))
  })

  server.delete(path, adminGuard.changeByAdmin({ schema: schemas.uninvite }), async (request, reply) => {
    const email = readEmail(request.body.email)
    if (isRefused(email)) return uninviteRefusals.sendRefusal(reply, email)
    const revoked = await invitations.revoke(email, adminGuard.actingClient(request), request.body.madeBy)
    return revoked > 0 ? reply.status(204).send() : uninviteRefusals.sendRefusal(reply, refuse('not_found'))
  })
}

type GroupDependencies = {
  adminGuard: AdminGuard
  groups: Groups
  groupChanges: ReturnType<typeof createGroupChanges>
  administrators: Administrators
}

const registerGroups = (server: Server, deps: GroupDependencies) => {
  const { adminGuard, groups, groupChanges, administrators } = deps
  const path = `${adminPath}/groups`

  server.get(path, adminGuard.read({ schema: schemas.groups }), async () => {
    const roles = await administrators.roles()
    return { groups: (await groups.list()).map((group) => groupBody(group, roles)) }
  })

  server.post(path, adminGuard.changeByAdmin({ schema: schemas.newGroup }), async (request, reply) => {
    const { name } = request.body
    const isNew = await groups.add(name, adminGuard.actingClient(request))
    const group = (await groups.list()).find((each) => each.name === name)
    return group
      ? reply.status(isNew ? 201 : 200).send(groupBody(group, await administrators.roles()))
      : newGroupRefusals.sendRefusal(reply, refuse('not_found'))
  })

  server.delete(path, adminGuard.changeByAdmin({ schema: schemas.groupDeletion }), async (request, reply) => {
    const { name, members = false, reason } = request.body
    if (members && reason === undefined) return groupDeletionRefusals.sendRefusal(reply, refuse('reason_required'))
    const client = adminGuard.actingClient(request, reason)
    const deleted = await groupChanges.deleteGroup(client, name, { alsoWithMembers: members })
    if (!isRefused(deleted)) return reply.status(204).send()
    return groupDeletionRefusals.sendRefusal(reply, deleted.refused === 'no_group' ? refuse('not_found') : deleted)
  })
}

type ApplicationDependencies = { adminGuard: AdminGuard; adminApplications: AdminApplicationsFlow }

const registerApplications = (server: Server, { adminGuard, adminApplications }: ApplicationDependencies) => {
  const path = `${adminPath}/applications`

  server.get(path, adminGuard.read({ schema: schemas.applications }), async () => ({
    applications: await adminApplications.list(),
  }))

  const patchOptions = adminGuard.changeByAdmin({ schema: schemas.applicationPatch })
  server.patch(`${path}/:id`, patchOptions, async (request, reply) => {
    const { reason, ...change } = request.body
    const changed = await adminApplications.change(request.params.id, change, adminGuard.actingClient(request, reason))
    return isRefused(changed) ? applicationPatchRefusals.sendRefusal(reply, changed) : changed
  })
}

/** Administrators change invitations, groups, and who may use an application. */
export const adminAccessRoutes = (
  server: Server,
  deps: InvitationDependencies & GroupDependencies & ApplicationDependencies,
) => {
  registerInvitations(server, deps)
  registerGroups(server, deps)
  registerApplications(server, deps)
}

type Dependencies = {
  applications: Applications
  applicationChanges: ApplicationChanges
  applicationSecrets: ApplicationSecrets
  applicationErrors: ApplicationErrors
}

type Access = Pick<Application, 'access' | 'groups'>
type AccessPatch = { everyone?: boolean; groups?: readonly string[] }

/** A patch with `groups` but without `everyone` limits the access to these groups. */
const accessAfter = (before: Access, { everyone, groups }: AccessPatch): Access => {
  const isForEveryone = everyone ?? (groups === undefined && before.access === 'everyone')
  if (isForEveryone) return { access: 'everyone', groups: [] }
  return { access: 'groups', groups: [...new Set(groups ?? before.groups)].sort() }
}

/** Whether some users may lose their access. */
const takesAway = (before: Access, after: Access) =>
  after.access === 'groups' &&
  (before.access === 'everyone' || before.groups.some((group) => !after.groups.includes(group)))

type AdminApplicationsFlow = ReturnType<typeof createAdminApplications>

/** Applications as administrators see them. Addresses and secrets change on the command line only. */
export const createAdminApplications = (deps: Dependencies) => {
  const { applications, applicationChanges, applicationSecrets, applicationErrors } = deps

  const describe = async (application: Application): Promise<AdminApplication> =>
    applicationBody(application, {
      secrets: await applicationSecrets.list(application.id),
      ...(await applicationErrors.list(application.id)),
    })

  return {
    list: async () => {
      const described: AdminApplication[] = []
      for (const application of await applications.list()) described.push(await describe(application))
      return described
    },

    /** Users who may not use the application any more lose their access at once. */
    change: async (id: string, patch: AccessPatch, client: Client) => {
      if (patch.everyone && patch.groups?.length)
        return refuse('bad_request', { message: 'Send everyone or groups, and not both' })
      const before = await applications.find(id)
      if (!before) return refuse('not_found')
      const after = accessAfter(before, patch)
      if (takesAway(before, after) && client.actor?.reason === undefined) return refuse('reason_required')
      const changed = await applicationChanges.change(id, after, client)
      if (!isRefused(changed)) return describe(changed.application)
      if (changed.refused === 'no_application') return refuse('not_found')
      if (changed.refused === 'no_group') return refuse('no_group')
      throw new Error(`An application could not be changed: ${changed.refused}`)
    },
  }
}
