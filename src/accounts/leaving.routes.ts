import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import { AccountExport } from '../contract/account-export.js'
import { isRefused, refuse } from '../contract/outcome.js'
import { NoContent } from '../contract/schemas.js'

import { clientOf } from '../http/request-origin.js'
import { routeRefusals } from '../http/route.js'
import type { Server } from '../http/server.js'

import type { Limits } from '../sessions/guards.js'
import type { SignInCookies } from '../sessions/session-cookies.js'
import { withCookies, withHeaders } from '../sign-in/answers.js'
import { clearsChallenge, needsChallenge } from '../sign-in/second-step.routes.js'

import type { User } from '../users/users.js'
import type { DeletedAccounts } from './deleted-accounts.js'
import type { Leaving } from './leaving.js'

const exportRefusals = routeRefusals(
  'challenge_over',
  'other_step',
  'fresh_sign_in_required',
  'cross_site',
  'too_many_requests',
  'unavailable',
)
const deleteRefusals = routeRefusals(
  'bad_request',
  'challenge_over',
  'other_username',
  'fresh_sign_in_required',
  'other_step',
  'cross_site',
  'too_many_requests',
  'unavailable',
)

const schemas = {
  export: {
    tags: ['sign in'],
    summary: 'Everything that is stored about a user who is asked for the terms or for fields',
    ...needsChallenge,
    response: { 200: AccountExport, ...withCookies(exportRefusals.responses, clearsChallenge) },
  },
  delete: {
    tags: ['sign in'],
    summary: 'Delete the account of a user who is asked for the terms or for fields',
    ...needsChallenge,
    body: Type.Object({ username: Type.String({ minLength: 1, maxLength: 1024 }) }),
    response: {
      204: withHeaders(NoContent, { 'Set-Cookie': 'Clears all cookies of the account' }),
      ...withCookies(deleteRefusals.responses, clearsChallenge),
    },
  },
}

type Dependencies = {
  leaving: Leaving
  accountData: (user: User) => Promise<AccountExport>
  signInCookies: SignInCookies
  deletedAccounts: DeletedAccounts
  limits: Limits
}

/** A user who does not agree to the terms gets no session, and can still take their data and delete the account. */
export const leavingRoutes = (server: Server, deps: Dependencies) => {
  const { leaving, accountData, signInCookies, deletedAccounts, limits } = deps
  const onRequest = limits.byNetwork

  server.get('/api/auth/second-factor/export', { schema: schemas.export, onRequest }, async (request, reply) => {
    const token = signInCookies.challengeOf(request)
    const user = token === undefined ? refuse('challenge_over') : await leaving.userOf(token)
    if (isRefused(user)) return exportRefusals.sendRefusal(signInCookies.clearChallengeIfOver(reply, user), user)
    return reply.header('Content-Disposition', 'attachment; filename="account-data.json"').send(await accountData(user))
  })

  const deleteAccount = async (reply: FastifyReply, token: string, username: string) => {
    const user = await leaving.userOf(token)
    if (isRefused(user)) return user
    const client = clientOf(reply.request)
    return deletedAccounts.deleteAndClear(reply, user.id, () => leaving.deleteAccount(token, username, client))
  }

  server.post('/api/auth/second-factor/delete', { schema: schemas.delete, onRequest }, async (request, reply) => {
    const token = signInCookies.challengeOf(request)
    const refusal =
      token === undefined ? refuse('challenge_over') : await deleteAccount(reply, token, request.body.username)
    if (refusal) return deleteRefusals.sendRefusal(signInCookies.clearChallengeIfOver(reply, refusal), refusal)
    return reply.status(204).send()
  })
}
