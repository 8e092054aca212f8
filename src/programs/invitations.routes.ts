import { isRefused, refuse } from '../contract/outcome.js'
import { NoContent } from '../contract/schemas.js'
import {
  ServiceInvitation,
  ServiceInvitationQuery,
  ServiceInvitations,
  ServiceInvite,
  ServiceUninvite,
  servicePath,
} from '../contract/service.js'
import { route } from '../http/route.js'
import type { Server } from '../http/server.js'
import { makerOf } from '../registration/invitations.js'
import type { App } from '../service/open-http.js'
import { readEmail } from '../users/names.js'
import { invitationBody } from './access-bodies.js'

export const serviceInvitationsRoutes = (server: Server, { serviceCallers, invitations }: App) => {
  const guard = [serviceCallers.withScope('invitations')]
  const tag = 'for other programs'

  route(server, `GET ${servicePath}/invitations`, {
    guard,
    tag,
    summary: 'Open invitations of every maker, or of this key',
    query: ServiceInvitationQuery,
    refuses: [],
    answers: { 200: ServiceInvitations },
    handle: async ({ query, request }) => {
      const maker = query.mine ? makerOf(serviceCallers.actingClient(request)) : undefined
      return { invitations: (await invitations.listOpen(maker)).map(invitationBody) }
    },
  })

  route(server, `POST ${servicePath}/invitations`, {
    guard,
    tag,
    summary:
      'Invite an address: the link is in the mail. It replaces the open invitation of this key. With groups, or where that one has some, the key also needs the scope `groups`',
    body: ServiceInvite,
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
    answers: { 201: ServiceInvitation },
    handle: async ({ body: { language, groups, invitedBy, returnTo, ...body }, request, reply }) => {
      const email = readEmail(body.email)
      if (isRefused(email)) return email
      // Groups need their own scope: otherwise a key could invite its owner's address into any group.
      const mayGiveGroups = serviceCallers.hasScope(request, 'groups')
      if (groups?.length && !mayGiveGroups) return serviceCallers.sendMissingScope(reply, 'groups')
      const client = { ...serviceCallers.actingClient(request), ...(language && { language }) }
      const sortedGroups = groups && [...new Set(groups)].sort()
      const invitation = mayGiveGroups
        ? await invitations.invite(email, client, { groups: sortedGroups, invitedBy, returnTo })
        : await invitations.inviteWithoutGroups(email, client, { invitedBy, returnTo })
      if (!isRefused(invitation)) return invitationBody(invitation)
      if (invitation.refused === 'invitation_has_groups') return serviceCallers.sendMissingScope(reply, 'groups')
      return invitation
    },
  })

  route(server, `DELETE ${servicePath}/invitations`, {
    guard,
    tag,
    summary: 'Withdraw an invitation of this key',
    body: ServiceUninvite,
    refuses: ['email_shape'],
    answers: { 204: NoContent },
    handle: async ({ body, request }) => {
      const email = readEmail(body.email)
      if (isRefused(email)) return email
      const revoked = await invitations.revoke(email, serviceCallers.actingClient(request))
      return revoked > 0 ? undefined : refuse('not_found')
    },
  })
}
