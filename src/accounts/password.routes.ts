import { Type } from 'typebox'
import { isRefused, refuse } from '../contract/outcome.js'
import { NoContent, TypedPassword } from '../contract/schemas.js'
import { route, type Server, withHeaders } from '../http/route.js'
import type { App } from '../service/open-http.js'
import { sendTokensOnly } from '../sessions/session-cookies.js'
import type { CallerContext } from '../sessions/session-facts.js'
import type { User } from '../users/users.js'

/** Replaces the password if the current one is right. */
const changePassword = async (
  app: App,
  context: CallerContext,
  user: User | undefined,
  { currentPassword, newPassword }: { currentPassword: string; newPassword: string },
) => {
  const { accountChanges, userChanges, passwords, sessionLookups, events } = app
  const { caller, client } = context
  const { userId, sessionId } = caller
  const asker = { ...client, isKnown: true }
  const verified = await passwords.verify(currentPassword, user?.passwordHash, asker)
  if (isRefused(verified)) return verified
  if (!user || !(await sessionLookups.isLive(caller))) return refuse('not_authenticated')
  if (!verified.matches) {
    await events.record({ kind: 'password_change_failed', userId, sessionId, reason: 'wrong_password' }, client)
    return refuse('wrong_current_password')
  }
  if (newPassword === currentPassword) return refuse('password_unchanged')
  const rejected = await passwords.refusalFor(newPassword, user, asker)
  if (rejected) return rejected
  const passwordHash = await passwords.hash(newPassword, asker)
  if (isRefused(passwordHash)) return passwordHash
  return accountChanges.byCaller(context, 'password_changed', async (sql, current) => {
    if (current.passwordHash !== user.passwordHash) return refuse('wrong_current_password')
    sql.unawaited(userChanges.setPassword(sql, userId, passwordHash))
    return { changes: { password_changed: {} } }
  })
}

export const changePasswordRoutes = (server: Server, app: App) => {
  const { guards, callers, cookies, factors, freshness, passwordGuesses, signInLimits, countedRequests, users } = app

  route(server, 'POST /api/auth/change-password', {
    guard: guards.changeLimitedBy(passwordGuesses.byCaller),
    tag: 'account',
    summary:
      "Change the caller's password; ends the other sessions and sets new tokens for this one; needs a fresh sign-in unless the account can prove with its password alone",
    body: Type.Object({ currentPassword: TypedPassword, newPassword: TypedPassword }),
    refuses: [
      'bad_request',
      'not_authenticated',
      'wrong_current_password',
      'invalid_csrf_token',
      'fresh_sign_in_required',
      'cross_site',
      'password_unchanged',
      'password_rejected',
      'too_many_logins',
      'too_many_requests',
      'busy',
      'unavailable',
    ],
    answers: { 204: withHeaders(NoContent, { 'Set-Cookie': 'New access_token and refresh_token' }) },
    onSend: countedRequests.refundSuccess,
    handle: async ({ body, request, reply }) => {
      // If the account can prove more than its password, the session must be fresh. That is checked before the password is compared: a
      // thief with a stolen session must not learn whether a guess is right.
      const user = await users.findEnabled(callers.of(request).userId)
      const methods = user ? await factors.proofsFor(user) : []
      const refusal = methods.some((method) => method !== 'password') && (await freshness.refusalFor(request))
      if (refusal) {
        countedRequests.refundDespiteRefusal(request)
        return refusal
      }
      const changed = await changePassword(app, callers.contextOf(request), user, body)
      if (isRefused(changed)) return changed
      await signInLimits.resetSignInCount(changed.user, request)
      return sendTokensOnly(reply, cookies, changed.issued)
    },
  })
}
