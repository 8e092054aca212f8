import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { AccountExport } from '../contract/account-export.js'
import { isRefused, type Refused, refuse } from '../contract/outcome.js'
import { NoContent } from '../contract/schemas.js'
import { clientOf } from '../http/request-origin.js'
import { route, type Server, withHeaders } from '../http/route.js'
import type { App } from '../service/open-http.js'
import { clearsChallenge, needsChallenge } from '../sign-in/enrol-guard.js'

/** The values of this browser's cookies that belong to the account. Read before the deletion: afterwards nothing tells whose they were. */
const devicesOf = async (
  { users, trustedDevices, knownDevices, signInCookies }: App,
  request: FastifyRequest,
  userId: string,
) => {
  const values = [...signInCookies.trustedDevicesIn(request), ...signInCookies.knownDevicesIn(request)]
  const user = await users.findById(userId)
  const knownValues = user ? knownDevices.valuesOf(user, values) : []
  return [...(await trustedDevices.tokensOf(userId, values)), ...knownValues]
}

/** Runs the deletion, and clears the cookies of the account in this browser if it was not refused. Those of other accounts stay. */
const deleteAndClear = async <Refusal extends Refused>(
  app: App,
  reply: FastifyReply,
  userId: string,
  deleteAccount: () => Promise<Refusal | undefined>,
): Promise<Refusal | undefined> => {
  const { callers, cookies, signInCookies, pendingLinkCookie } = app
  const { request } = reply
  const devices = await devicesOf(app, request, userId)
  const hadSession = [callers.find(request), callers.sessionOfRefreshToken(request)].some(
    (session) => session?.userId === userId,
  )
  const refusal = await deleteAccount()
  if (refusal) return refusal
  if (hadSession) cookies.clearSession(reply)
  cookies.clear(reply, 'registration')
  pendingLinkCookie.clear(reply)
  signInCookies.clearChallenge(reply)
  signInCookies.forgetDevices(request, reply, devices)
  return undefined
}

const body = Type.Object({ username: Type.String({ minLength: 1, maxLength: 1024 }) })
const answers = { 204: withHeaders(NoContent, { 'Set-Cookie': 'Clears all cookies of the account' }) }

export const deleteAccountRoutes = (server: Server, app: App) => {
  const { guards, callers, deletion } = app

  route(server, 'POST /api/auth/delete-account', {
    guard: guards.sensitive,
    tag: 'account',
    summary: "Delete the caller's account and everything that is stored about it",
    description:
      'Needs a fresh sign-in, and the username as a sign that this account is meant. Nothing can be restored. Every session ends, the names are free at once, and a last mail is sent.',
    body,
    refuses: ['bad_request', 'other_username', 'fresh_sign_in_required'],
    answers,
    handle: async ({ body: { username }, request, reply }) => {
      const context = callers.contextOf(request)
      return deleteAndClear(app, reply, context.caller.userId, () => deletion.byCaller(context, username))
    },
  })
}

/** A user who does not agree to the terms gets no session, and can still take their data and delete the account. */
export const leavingRoutes = (server: Server, app: App) => {
  const { deletion, accountData, signInCookies, limits } = app
  const atSignIn = { guard: [limits.byNetwork], tag: 'sign in', ...needsChallenge, refusalHeaders: clearsChallenge }

  route(server, 'GET /api/auth/second-factor/export', {
    ...atSignIn,
    summary: 'Everything that is stored about a user who is asked for the terms or for fields',
    refuses: ['challenge_over', 'other_step', 'fresh_sign_in_required', 'cross_site'],
    answers: { 200: AccountExport },
    handle: async ({ request, reply }) => {
      const token = signInCookies.challengeOf(request)
      const user = token === undefined ? refuse('challenge_over') : await deletion.userLeaving(token)
      if (isRefused(user)) {
        signInCookies.clearChallengeIfOver(reply, user)
        return user
      }
      reply.header('Content-Disposition', 'attachment; filename="account-data.json"')
      return accountData(user)
    },
  })

  const deleteAtSignIn = async (reply: FastifyReply, token: string, username: string) => {
    const user = await deletion.userLeaving(token)
    if (isRefused(user)) return user
    const client = clientOf(reply.request)
    return deleteAndClear(app, reply, user.id, () => deletion.atSignIn(token, username, client))
  }

  route(server, 'POST /api/auth/second-factor/delete', {
    ...atSignIn,
    summary: 'Delete the account of a user who is asked for the terms or for fields',
    body,
    refuses: ['bad_request', 'challenge_over', 'other_username', 'fresh_sign_in_required', 'other_step', 'cross_site'],
    answers,
    handle: async ({ body: { username }, request, reply }) => {
      const token = signInCookies.challengeOf(request)
      const refusal = token === undefined ? refuse('challenge_over') : await deleteAtSignIn(reply, token, username)
      if (refusal) signInCookies.clearChallengeIfOver(reply, refusal)
      return refusal
    },
  })
}
