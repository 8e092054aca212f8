import {
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
    refuses: ['reason_required', 'group_in_use', 'group_has_members', 'set_by_file'],
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

/** Administrators change invitations and groups. */
export const adminAccessRoutes = (server: Server, app: App, adminGuard: AdminGuard) => {
  invitationsRoutes(server, app, adminGuard)
  groupsRoutes(server, app, adminGuard)
}
