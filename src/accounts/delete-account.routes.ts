import { Type } from 'typebox'
import { NoContent } from '../contract/schemas.js'
import { guardRefusals, routeRefusals } from '../http/route.js'
import type { Server } from '../http/server.js'

import type { Callers } from '../sessions/callers.js'
import type { Guards } from '../sessions/guards.js'

import { withHeaders } from '../sign-in/answers.js'
import type { createDeleteOwnAccount } from './delete-account.js'
import type { DeletedAccounts } from './deleted-accounts.js'

const { responses, sendRefusal } = routeRefusals(
  ...guardRefusals,
  'bad_request',
  'other_username',
  'fresh_sign_in_required',
)

const schema = {
  tags: ['account'],
  summary: "Delete the caller's account and everything that is stored about it",
  description:
    'Needs a fresh sign-in, and the username as a sign that this account is meant. Nothing can be restored. Every session ends, the names are free at once, and a last mail is sent.',
  body: Type.Object({ username: Type.String({ minLength: 1, maxLength: 1024 }) }),
  response: {
    204: withHeaders(NoContent, { 'Set-Cookie': 'Clears all cookies of the account' }),
    ...responses,
  },
}

type Dependencies = {
  guards: Guards
  deleteOwnAccount: ReturnType<typeof createDeleteOwnAccount>
  callers: Callers
  deletedAccounts: DeletedAccounts
}

export const deleteAccountRoutes = (server: Server, deps: Dependencies) => {
  const { guards, deleteOwnAccount, callers, deletedAccounts } = deps
  const onRequest = guards.sensitive

  server.post('/api/auth/delete-account', { schema, onRequest }, async (request, reply) => {
    const context = callers.contextOf(request)
    const refusal = await deletedAccounts.deleteAndClear(reply, context.caller.userId, () =>
      deleteOwnAccount(context, request.body.username),
    )
    return refusal ? sendRefusal(reply, refusal) : reply.status(204).send()
  })
}
