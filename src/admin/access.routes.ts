import { Type } from 'typebox'
import type { ApplicationErrors } from '../applications/application-errors.js'
import type { Access, Application, ApplicationSecrets } from '../applications/applications.js'
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
import type { Server } from '../http/server.js'
import { groupBody, invitationBody } from '../programs/access-bodies.js'
import type { App } from '../service/open-http.js'
import { readEmail } from '../users/names.js'
import { type AdminGuard, adminRoute } from './admin-guard.js'
import { applicationBody } from './bodies.js'
import type { AdminServices } from './open-admin.js'

const tag = 'administrators'

const invitationsRoutes = (server: Server, { invitations }: App, adminGuard: AdminGuard) => {
  adminRoute(server, `GET ${adminPath}/invitations`, {
    guard: adminGuard.read,
    tag,
    summary: 'Open invitations',
    refuses: [],
    answers: { 200: AdminInvitations },
    handle: async () => ({ invitations: (await invitations.listOpen()).map(invitationBody) }),
  })

  adminRoute(server, `POST ${adminPath}/invitations`, {
    guard: adminGuard.changeByAdmin,
    tag,
    summary: 'Invite an address: the link is in the mail',
    body: AdminInvite,
    refuses: [
      'email_shape',
      'mail_is_off',
      'has_account',
      'email_reserved',
      'no_group',
      'too_many_groups',
      'group_of_administrators',
      'too_many_mails',
    ],
    answers: { 201: AdminInvitation },
    handle: async ({ body: { language, groups, returnTo, ...body }, request }) => {
      const email = readEmail(body.email)
      if (isRefused(email)) return email
      const client = { ...adminGuard.actingClient(request), ...(language && { language }) }
      const sortedGroups = groups && [...new Set(groups)].sort()
      const invitation = await invitations.invite(email, client, { groups: sortedGroups, returnTo })
      return isRefused(invitation) ? invitation : invitationBody(invitation)
    },
  })

  adminRoute(server, `DELETE ${adminPath}/invitations`, {
    guard: adminGuard.changeByAdmin,
    tag,
    summary: 'Withdraw an invitation',
    body: AdminUninvite,
    refuses: ['email_shape'],
    answers: { 204: NoContent },
    handle: async ({ body, request }) => {
      const email = readEmail(body.email)
      if (isRefused(email)) return email
      const revoked = await invitations.revoke(email, adminGuard.actingClient(request), body.madeBy)
      return revoked > 0 ? undefined : refuse('not_found')
    },
  })
}

const groupsRoutes = (server: Server, { groups, groupChanges, administrators }: App, adminGuard: AdminGuard) => {
  adminRoute(server, `GET ${adminPath}/groups`, {
    guard: adminGuard.read,
    tag,
    summary: 'Groups, and how many members each has',
    refuses: [],
    answers: { 200: AdminGroups },
    handle: async () => {
      const roles = await administrators.roles()
      return { groups: (await groups.list()).map((group) => groupBody(group, roles)) }
    },
  })

  adminRoute(server, `POST ${adminPath}/groups`, {
    guard: adminGuard.changeByAdmin,
    tag,
    summary: 'Make a group',
    body: AdminNewGroup,
    refuses: [],
    answers: { 200: AdminGroup, 201: AdminGroup },
    handle: async ({ body: { name }, request, reply }) => {
      const isNew = await groups.add(name, adminGuard.actingClient(request))
      const group = (await groups.list()).find((each) => each.name === name)
      if (!group) return refuse('not_found')
      reply.status(isNew ? 201 : 200)
      return groupBody(group, await administrators.roles())
    },
  })

  adminRoute(server, `DELETE ${adminPath}/groups`, {
    guard: adminGuard.changeByAdmin,
    tag,
    summary: 'Delete a group',
    body: AdminGroupDeletion,
    refuses: ['reason_required', 'group_in_use', 'group_has_members'],
    answers: { 204: NoContent },
    handle: async ({ body: { name, members = false, reason }, request }) => {
      if (members && reason === undefined) return refuse('reason_required')
      const client = adminGuard.actingClient(request, reason)
      const deleted = await groupChanges.deleteGroup(client, name, { alsoWithMembers: members })
      if (!isRefused(deleted)) return undefined
      return deleted.refused === 'no_group' ? refuse('not_found') : deleted
    },
  })
}

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

/** An application with its secrets and errors. */
const describe = async (
  application: Application,
  errors: ApplicationErrors,
  secrets: ApplicationSecrets,
): Promise<AdminApplication> =>
  applicationBody(application, {
    secrets: await secrets.list(application.id),
    ...(await errors.list(application.id)),
  })

/** Applications as administrators see them. Addresses and secrets change on the command line only. */
const applicationsRoutes = (server: Server, app: App & AdminServices, adminGuard: AdminGuard) => {
  const { applications, applicationChanges, applicationErrors, applicationSecrets } = app

  adminRoute(server, `GET ${adminPath}/applications`, {
    guard: adminGuard.read,
    tag,
    summary: 'Applications with their last errors',
    refuses: [],
    answers: { 200: AdminApplications },
    handle: async () => {
      const described: AdminApplication[] = []
      for (const application of await applications.list())
        described.push(await describe(application, applicationErrors, applicationSecrets))
      return { applications: described }
    },
  })

  adminRoute(server, `PATCH ${adminPath}/applications/:id`, {
    guard: adminGuard.changeByAdmin,
    tag,
    summary: 'Change who may use an application',
    params: Type.Object({ id: Type.String({ maxLength: 200 }) }),
    body: AdminApplicationPatch,
    refuses: ['reason_required', 'no_group'],
    answers: { 200: AdminApplication },
    /** Users who may not use the application any more lose their access at once. */
    handle: async ({ params: { id }, body: { reason, ...patch }, request }) => {
      if (patch.everyone && patch.groups?.length)
        return refuse('bad_request', { message: 'Send everyone or groups, and not both' })
      const before = await applications.find(id)
      if (!before) return refuse('not_found')
      const after = accessAfter(before, patch)
      if (takesAway(before, after) && reason === undefined) return refuse('reason_required')
      const changed = await applicationChanges.change(id, after, adminGuard.actingClient(request, reason))
      if (!isRefused(changed)) return describe(changed.application, applicationErrors, applicationSecrets)
      // Who may use a program of a document, the rules of resources say.
      if (changed.refused === 'no_application' || changed.refused === 'is_document') return refuse('not_found')
      if (changed.refused === 'no_group') return refuse('no_group')
      throw new Error(`An application could not be changed: ${changed.refused}`)
    },
  })
}

/** Administrators change invitations, groups, and who may use an application. */
export const adminAccessRoutes = (server: Server, app: App & AdminServices, adminGuard: AdminGuard) => {
  invitationsRoutes(server, app, adminGuard)
  groupsRoutes(server, app, adminGuard)
  applicationsRoutes(server, app, adminGuard)
}
