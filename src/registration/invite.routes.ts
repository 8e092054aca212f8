import { Type } from 'typebox'
import { InvitationState, JoinedGroups } from '../contract/mailed-links.js'
import { isRefused } from '../contract/outcome.js'
import { guardRefusals, routeRefusals } from '../http/route.js'
import type { Server } from '../http/server.js'

import type { Callers } from '../sessions/callers.js'
import type { Guards, Limits } from '../sessions/guards.js'

import type { createAcceptInvitation } from './accept-invitation.js'

const checkRefusals = routeRefusals(
  'bad_request',
  'invalid_invitation',
  'cross_site',
  'too_many_requests',
  'unavailable',
)
const acceptRefusals = routeRefusals(...guardRefusals, 'bad_request', 'invalid_invitation', 'too_many_groups')

const body = Type.Object({ token: Type.String({ maxLength: 1024 }) })

const checkSchema = {
  tags: ['registration'],
  summary: 'Whom an invitation is for, who invites, and what its user does next; changes nothing',
  body,
  response: { 200: InvitationState, ...checkRefusals.responses },
}
const acceptSchema = {
  tags: ['account'],
  summary: 'Join the groups of an invitation for the address of this account',
  description:
    'The access tokens of the account are refused afterwards, and the next refresh gets tokens with the new groups.',
  body,
  response: { 200: JoinedGroups, ...acceptRefusals.responses },
}

type Dependencies = {
  acceptInvitation: ReturnType<typeof createAcceptInvitation>
  callers: Callers
  guards: Guards
  limits: Limits
}

export const inviteRoutes = (server: Server, { acceptInvitation, callers, guards, limits }: Dependencies) => {
  const checkOptions = { schema: checkSchema, onRequest: limits.byNetwork }
  server.post('/api/auth/invite/check', checkOptions, async (request, reply) =>
    checkRefusals.answer(reply, await acceptInvitation.describe(request.body.token, callers.find(request))),
  )

  server.post('/api/auth/invite/accept', { schema: acceptSchema, onRequest: guards.change }, async (request, reply) => {
    const accepted = await acceptInvitation.accept(callers.contextOf(request), request.body.token)
    if (isRefused(accepted)) return acceptRefusals.sendRefusal(reply, accepted)
    return { groups: accepted.result }
  })
}
