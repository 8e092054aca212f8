import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { UndoState } from '../contract/mailed-links.js'
import { isRefused } from '../contract/outcome.js'
import { type UndoLinkKind, undoTokenFor } from '../contract/pages.js'
import { LinkToken, NoContent, TypedPassword } from '../contract/schemas.js'
import type { CountedRequests } from '../http/limits.js'
import { clientOf } from '../http/request-origin.js'
import { routeRefusals } from '../http/route.js'
import type { Server } from '../http/server.js'

import type { Limits } from '../sessions/guards.js'
import type { RecoveredAccounts } from '../sign-in/answers.js'
import type { createUndo } from './undo.js'

const checkRefusals = routeRefusals('bad_request', 'invalid_link', 'cross_site', 'too_many_requests', 'unavailable')
const { responses, sendRefusal } = routeRefusals(
  'bad_request',
  'invalid_link',
  'cross_site',
  'password_rejected',
  'password_unchanged',
  'too_many_requests',
  'busy',
  'unavailable',
)

const tags = ['undo']
const checkSchema = {
  tags,
  summary: 'Whether a link still works, and all that it takes back; changes nothing',
  body: Type.Object({ token: LinkToken }),
  response: { 200: UndoState, ...checkRefusals.responses },
}
const schemaOf = (linkKind: UndoLinkKind, mail: string) => ({
  tags,
  summary: `Take the account back, with the token of ${mail}`,
  description:
    'Puts back the address to which the mail went, removes everything that was added in the last seven days and can still be undone, and ends every session and waiting link. `password` becomes the new one. Without it, no password works, and a reset link is mailed to that address.',
  body: Type.Object({
    token: Type.String({
      minLength: 1,
      maxLength: 128,
      description: `Begins with \`${undoTokenFor(linkKind, '')}\`, or it is refused with invalid_link`,
    }),
    password: Type.Optional(TypedPassword),
  }),
  response: { 204: NoContent, ...responses },
})
const schemas = {
  factor: schemaOf(
    'factor',
    'the mail about an added factor, passkey or provider, or a changed username, language or password',
  ),
  email: schemaOf('email', 'the mail about a change of the email'),
}

type Dependencies = {
  undo: ReturnType<typeof createUndo>
  recoveredAccounts: Pick<RecoveredAccounts, 'forgetLimits'>
  limits: Limits
  countedRequests: CountedRequests
}
type Link = { token: string; password?: string }

export const undoRoutes = (server: Server, deps: Dependencies) => {
  const { undo, recoveredAccounts, limits, countedRequests } = deps
  const limitHooks = { onRequest: limits.confirm, onSend: countedRequests.refundSuccess }

  server.post('/api/auth/undo/check', { schema: checkSchema, onRequest: limits.byNetwork }, async (request, reply) => {
    return checkRefusals.answer(reply, await undo.describe(request.body.token))
  })

  const takeBack = async (linkKind: UndoLinkKind, link: Link, request: FastifyRequest, reply: FastifyReply) => {
    const owner = await undo.takeBack(linkKind, link, clientOf(request))
    if (isRefused(owner)) return sendRefusal(reply, owner)
    await recoveredAccounts.forgetLimits(owner, request)
    return reply.status(204).send()
  }

  server.post('/api/auth/factors/undo', { schema: schemas.factor, ...limitHooks }, async (request, reply) =>
    takeBack('factor', request.body, request, reply),
  )

  server.post('/api/auth/email/undo', { schema: schemas.email, ...limitHooks }, async (request, reply) =>
    takeBack('email', request.body, request, reply),
  )
}
