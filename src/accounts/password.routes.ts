import { Type } from 'typebox'
import type { AccountChanges } from '../account-changes/account-changes.js'
import { isRefused, refuse } from '../contract/outcome.js'
import { NoContent, TypedPassword } from '../contract/schemas.js'
import type { Freshness } from '../factors/freshness.js'
import type { Proofs } from '../factors/second-factors.js'
import type { Cookies } from '../http/cookies.js'
import type { CountedRequests } from '../http/limits.js'
import { routeRefusals, withHeaders } from '../http/route.js'
import type { Server } from '../http/server.js'
import type { Events } from '../messages/events.js'
import type { Passwords } from '../passwords/passwords.js'
import type { Callers } from '../sessions/callers.js'
import type { Guards } from '../sessions/guards.js'
import { sendTokensOnly } from '../sessions/session-cookies.js'
import type { CallerContext } from '../sessions/session-facts.js'
import type { SessionLookups } from '../sessions/session-lookups.js'
import type { PasswordGuesses, SignInLimits } from '../sign-in/guess-limits.js'
import type { UserChanges, Users } from '../users/users.js'

type ChangePasswordDependencies = {
  accountChanges: AccountChanges
  users: Users
  userChanges: UserChanges
  passwords: Passwords
  sessionLookups: SessionLookups
  events: Events
}
type PasswordChange = { currentPassword: string; newPassword: string }

/** Replaces the password if the current one is right. */
export const createChangePassword =
  ({ accountChanges, users, userChanges, passwords, sessionLookups, events }: ChangePasswordDependencies) =>
  async (context: CallerContext, { currentPassword, newPassword }: PasswordChange) => {
    const { caller, client } = context
    const { userId, sessionId } = caller
    const asker = { ...client, isKnown: true }
    const user = await users.findEnabled(userId)
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
      await userChanges.setPassword(sql, userId, passwordHash)
      return { changes: { password_changed: {} } }
    })
  }

const { responses, sendRefusal } = routeRefusals(
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
)

const schema = {
  tags: ['account'],
  summary:
    "Change the caller's password; ends the other sessions and sets new tokens for this one; needs a fresh sign-in unless the account can prove with its password alone",
  body: Type.Object({
    currentPassword: TypedPassword,
    newPassword: TypedPassword,
  }),
  response: {
    204: withHeaders(NoContent, { 'Set-Cookie': 'New access_token and refresh_token' }),
    ...responses,
  },
}

type ChangePasswordRouteDependencies = {
  guards: Guards
  changePassword: ReturnType<typeof createChangePassword>
  callers: Callers
  cookies: Cookies
  proofs: Proofs
  freshness: Freshness
  passwordGuesses: PasswordGuesses
  signInLimits: SignInLimits
  countedRequests: CountedRequests
}

export const changePasswordRoutes = (server: Server, deps: ChangePasswordRouteDependencies) => {
  const {
    guards,
    changePassword,
    callers,
    cookies,
    proofs,
    freshness,
    passwordGuesses,
    signInLimits,
    countedRequests,
  } = deps
  const options = {
    schema,
    onRequest: guards.changeLimitedBy(passwordGuesses.byCaller),
    onSend: countedRequests.refundSuccess,
  }
  server.post('/api/auth/change-password', options, async (request, reply) => {
    // If the account can prove more than its password, the session must be fresh. That is checked before the password is compared: a thief
    // with a stolen session must not learn whether a guess is right.
    const methods = (await proofs.methodsByUserId(callers.of(request).userId)) ?? []
    const refusal = methods.some((method) => method !== 'password') && (await freshness.refusalFor(request))
    if (refusal) {
      countedRequests.refundDespiteRefusal(request)
      return sendRefusal(reply, refusal)
    }
    const result = await changePassword(callers.contextOf(request), request.body)
    if (isRefused(result)) return sendRefusal(reply, result)
    await signInLimits.resetSignInCount(result.user, request)
    return sendTokensOnly(reply, cookies, result.issued)
  })
}
