import { Type } from 'typebox'
import { InvitationState } from '../../contract/mailed-links.js'
import { refuse } from '../../contract/outcome.js'
import type { Invitations } from '../../domain/invitations/invitations.js'
import type { Limits } from '../../http/limits/limits.js'
import { routeRefusals } from '../../http/route-refusals.js'
import type { Server } from '../../http/server.js'

const { responses, sendRefusal } = routeRefusals(
  'bad_request',
  'invalid_invitation',
  'cross_site',
  'too_many_requests',
  'unavailable',
)

const schema = {
  tags: ['registration'],
  summary: 'The address that an invitation is for, and whether this link came by mail; changes nothing',
  body: Type.Object({ token: Type.String({ maxLength: 1024 }) }),
  response: { 200: InvitationState, ...responses },
}

export const inviteRoutes = (server: Server, { invitations, limits }: { invitations: Invitations; limits: Limits }) => {
  server.post('/api/auth/invite/check', { schema, onRequest: limits.byNetwork }, async (request, reply) => {
    const invitation = await invitations.find(request.body.token)
    if (!invitation) return sendRefusal(reply, refuse('invalid_invitation'))
    return { email: invitation.email, provesAddress: invitation.provesAddress }
  })
}
