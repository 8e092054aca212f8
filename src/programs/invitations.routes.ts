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

import { routeRefusals } from '../http/route.js'
import type { Server } from '../http/server.js'

import { type Invitations, makerOf } from '../registration/invitations.js'
import type { Guards } from '../sessions/guards.js'
import { readEmail } from '../users/names.js'
import { invitationBody } from './groups.routes.js'
import { type ServiceCallers, serviceRefusals } from './service-callers.js'

const readRefusals = routeRefusals(...serviceRefusals)
const inviteRefusals = routeRefusals(
  ...serviceRefusals,
  'email_shape',
  'mail_is_off',
  'has_account',
  'email_reserved',
  'no_group',
  'too_many_groups',
  'group_of_administrators',
  'too_many_mails',
)
const uninviteRefusals = routeRefusals(...serviceRefusals, 'email_shape')

const tags = ['for other programs']
const schemas = {
  list: {
    tags,
    summary: 'Open invitations of every maker, or of this key',
    querystring: ServiceInvitationQuery,
    response: { 200: ServiceInvitations, ...readRefusals.responses },
  },
  invite: {
    tags,
    summary:
      'Invite an address: the link is in the mail. It replaces the open invitation of this key. With groups, or where that one has some, the key also needs the scope `groups`',
    body: ServiceInvite,
    response: { 201: ServiceInvitation, ...inviteRefusals.responses },
  },
  uninvite: {
    tags,
    summary: 'Withdraw an invitation of this key',
    body: ServiceUninvite,
    response: { 204: NoContent, ...uninviteRefusals.responses },
  },
}

type Dependencies = {
  guards: Guards
  serviceCallers: ServiceCallers
  invitations: Invitations
}

export const serviceInvitationsRoutes = (server: Server, { guards, serviceCallers, invitations }: Dependencies) => {
  const path = `${servicePath}/invitations`
  const onRequest = guards.service('invitations')

  server.get(path, { schema: schemas.list, onRequest }, async (request) => {
    const maker = request.query.mine ? makerOf(serviceCallers.actingClient(request)) : undefined
    return { invitations: (await invitations.listOpen(maker)).map(invitationBody) }
  })

  server.post(path, { schema: schemas.invite, onRequest }, async (request, reply) => {
    const { language, groups, invitedBy, returnTo } = request.body
    const email = readEmail(request.body.email)
    if (isRefused(email)) return inviteRefusals.sendRefusal(reply, email)
    // Groups need their own scope: otherwise a key could invite its owner's address into any group.
    const mayGiveGroups = serviceCallers.hasScope(request, 'groups')
    if (groups?.length && !mayGiveGroups) return serviceCallers.sendMissingScope(reply, 'groups')
    const client = { ...serviceCallers.actingClient(request), ...(language && { language }) }
    const invitation = mayGiveGroups
      ? await invitations.invite(email, client, { groups: groups && [...new Set(groups)].sort(), invitedBy, returnTo })
      : await invitations.inviteWithoutGroups(email, client, { invitedBy, returnTo })
    if (!isRefused(invitation)) return reply.status(201).send(invitationBody(invitation))
    return invitation.refused === 'invitation_has_groups'
      ? serviceCallers.sendMissingScope(reply, 'groups')
      : inviteRefusals.sendRefusal(reply, invitation)
  })

  server.delete(path, { schema: schemas.uninvite, onRequest }, async (request, reply) => {
    const email = readEmail(request.body.email)
    if (isRefused(email)) return uninviteRefusals.sendRefusal(reply, email)
    const revoked = await invitations.revoke(email, serviceCallers.actingClient(request))
    return revoked > 0 ? reply.status(204).send() : uninviteRefusals.sendRefusal(reply, refuse('not_found'))
  })
}
