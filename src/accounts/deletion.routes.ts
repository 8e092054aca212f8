import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { AccountChanges } from '../account-changes/account-changes.js'
import { AccountExport } from '../contract/account-export.js'
import { isRefused, type Refused, refuse } from '../contract/outcome.js'
import { NoContent } from '../contract/schemas.js'
import type { TrustedDevices } from '../factors/trusted-devices.js'
import type { Cookies } from '../http/cookies.js'
import { clientOf } from '../http/request-origin.js'
import { guardRefusals, routeRefusals, withCookies, withHeaders } from '../http/route.js'
import type { Server } from '../http/server.js'
import type { Callers } from '../sessions/callers.js'
import type { Guards, Limits } from '../sessions/guards.js'
import type { KnownDevices } from '../sessions/known-devices.js'
import type { SignInCookies } from '../sessions/session-cookies.js'
import type { CallerContext } from '../sessions/session-facts.js'
import { challengeSecurity, clearsChallenge, type PendingLinkCookie } from '../sign-in/answers.js'
import { usernameKey } from '../users/names.js'
import type { User, Users } from '../users/users.js'
import type { AccountDeletion, Leaving } from './deletion.js'

type DeletedAccountsDependencies = {
  users: Users
  trustedDevices: TrustedDevices
  knownDevices: KnownDevices
  callers: Callers
  cookies: Cookies
  signInCookies: SignInCookies
  pendingLinkCookie: PendingLinkCookie
}

type DeletedAccounts = ReturnType<typeof createDeletedAccounts>

/** Clears the cookies of a deleted account in the browser that deleted it. Those of other accounts stay. */
export const createDeletedAccounts = (deps: DeletedAccountsDependencies) => {
  const { users, trustedDevices, knownDevices, callers, cookies, signInCookies, pendingLinkCookie } = deps

  /** Read before the deletion, because afterwards nothing tells which values belonged to the account. */
  const devicesOf = async (request: FastifyRequest, userId: string) => {
    const values = [...signInCookies.trustedDevicesIn(request), ...signInCookies.knownDevicesIn(request)]
    const user = await users.findById(userId)
    const knownValues = user ? knownDevices.valuesOf(user, values) : []
    return [...(await trustedDevices.tokensOf(userId, values)), ...knownValues]
  }

  const hasSessionOf = (request: FastifyRequest, userId: string) =>
    [callers.find(request), callers.sessionOfRefreshToken(request)].some((session) => session?.userId === userId)

  return {
    /** Runs the deletion, and clears the cookies of the account if it was not refused. */
    deleteAndClear: async <Refusal extends Refused>(
      reply: FastifyReply,
      userId: string,
      deleteAccount: () => Promise<Refusal | undefined>,
    ): Promise<Refusal | undefined> => {
      const { request } = reply
      const devices = await devicesOf(request, userId)
      const hadSession = hasSessionOf(request, userId)
      const refusal = await deleteAccount()
      if (refusal) return refusal
      if (hadSession) cookies.clearSession(reply)
      cookies.clear(reply, 'registration')
      pendingLinkCookie.clear(reply)
      signInCookies.clearChallenge(reply)
      signInCookies.forgetDevices(request, reply, devices)
      return undefined
    },
  }
}

type DeleteOwnAccountDependencies = { accountChanges: AccountChanges; deleteAccount: AccountDeletion }

/** Deletes the caller's account. The username is as the user has typed it, to show that they mean this account. */
export const createDeleteOwnAccount =
  ({ accountChanges, deleteAccount }: DeleteOwnAccountDependencies) =>
  async (context: CallerContext, username: string) => {
    const deleted = await accountChanges.byCaller(context, 'account_deleted', async (sql, user) => {
      if (usernameKey(username) !== usernameKey(user.username)) return refuse('other_username')
      const mailDetails = await deleteAccount(sql, user, 'account_deleted')
      return { changes: { account_deleted: { mail: { byOperator: false, ...mailDetails } } } }
    })
    return isRefused(deleted) ? deleted : undefined
  }

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

type DeleteAccountRouteDependencies = {
  guards: Guards
  deleteOwnAccount: ReturnType<typeof createDeleteOwnAccount>
  callers: Callers
  deletedAccounts: DeletedAccounts
}

export const deleteAccountRoutes = (server: Server, deps: DeleteAccountRouteDependencies) => {
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
    security: challengeSecurity,
    response: { 200: AccountExport, ...withCookies(exportRefusals.responses, clearsChallenge) },
  },
  delete: {
    tags: ['sign in'],
    summary: 'Delete the account of a user who is asked for the terms or for fields',
    security: challengeSecurity,
    body: Type.Object({ username: Type.String({ minLength: 1, maxLength: 1024 }) }),
    response: {
      204: withHeaders(NoContent, { 'Set-Cookie': 'Clears all cookies of the account' }),
      ...withCookies(deleteRefusals.responses, clearsChallenge),
    },
  },
}

type LeavingRouteDependencies = {
  leaving: Leaving
  accountData: (user: User) => Promise<AccountExport>
  signInCookies: SignInCookies
  deletedAccounts: DeletedAccounts
  limits: Limits
}

/** A user who does not agree to the terms gets no session, and can still take their data and delete the account. */
export const leavingRoutes = (server: Server, deps: LeavingRouteDependencies) => {
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
