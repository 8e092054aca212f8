import { Type } from 'typebox'
import { isRefused } from '../../contract/outcome.js'
import { NoContent, UndoState } from '../../contract/schemas.js'
import { type UndoOf, undoTokenFor } from '../../contract/undo-tokens.js'
import { clientOf } from '../../http/client.js'
import type { Limits } from '../../http/limits.js'
import { routeRefusals } from '../../http/route-refusals.js'
import type { Server } from '../../http/server.js'
import type { createUndo } from './undo.js'

const { responses, sendRefusal } = routeRefusals(
  'bad_request',
  'invalid_link',
  'cross_site',
  'too_many_requests',
  'unavailable',
)

const tags = ['undo']
const checkSchema = {
  tags,
  summary: 'Whether a link still works, and what it takes back; changes nothing',
  body: Type.Object({ token: Type.String({ minLength: 1, maxLength: 128 }) }),
  response: { 200: UndoState, ...responses },
}
const schemaOf = (of: UndoOf, summary: string) => ({
  tags,
  summary,
  description: `The token of a link to /undo. Those that begin with \`${undoTokenFor(of, '')}\` are for this call; any other is refused with invalid_link.`,
  body: Type.Object({
    token: Type.String({ minLength: 1, maxLength: 128, description: `Begins with \`${undoTokenFor(of, '')}\`` }),
  }),
  response: { 204: NoContent, ...responses },
})
const schemas = {
  factor: schemaOf(
    'factor',
    'Remove what was added to the account, with the token of the mail about it; ends every session, makes the password unusable, and mails a reset',
  ),
  email: schemaOf(
    'email',
    'Put an earlier email address back, with the token of the mail to it; removes what was added since, ends every session, and mails a reset',
  ),
}

type Dependencies = { undo: ReturnType<typeof createUndo>; limits: Limits }

export const undoRoutes = (server: Server, { undo, limits }: Dependencies) => {
  const limited = { onRequest: limits.confirm, onSend: limits.refundSuccess }

  server.post('/api/auth/undo/check', { schema: checkSchema, onRequest: limits.byNetwork }, async (request, reply) => {
    const found = await undo.look(request.body.token)
    return isRefused(found) ? sendRefusal(reply, found) : reply.send(found)
  })

  server.post('/api/auth/factors/undo', { schema: schemas.factor, ...limited }, async (request, reply) => {
    const refused = await undo.undoFactor(request.body.token, clientOf(request))
    return refused ? sendRefusal(reply, refused) : reply.status(204).send()
  })

  server.post('/api/auth/email/undo', { schema: schemas.email, ...limited }, async (request, reply) => {
    const refused = await undo.undoEmail(request.body.token, clientOf(request))
    return refused ? sendRefusal(reply, refused) : reply.status(204).send()
  })
}
