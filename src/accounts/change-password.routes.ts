import { Type } from 'typebox'
import { isRefused } from '../contract/outcome.js'
import { NoContent, TypedPassword } from '../contract/schemas.js'

import type { Freshness } from '../factors/freshness.js'
import type { Proofs } from '../factors/second-factors.js'
import type { Cookies } from '../http/cookies.js'
import type { CountedRequests } from '../http/limits.js'
import { routeRefusals } from '../http/route.js'
import type { Server } from '../http/server.js'

import type { Callers } from '../sessions/callers.js'
import type { Guards } from '../sessions/guards.js'
import { sendTokensOnly, withHeaders } from '../sign-in/answers.js'
import type { PasswordGuesses, SignInLimits } from '../sign-in/guess-limits.js'

import type { createChangePassword } from './change-password.js'

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

type Dependencies = {
  guards: Guards
  changePassword: ReturnType<typeof createChangePassword>
  callers: Callers
  cookies: Cookies
  proofs: Pick<Proofs, 'methodsByUserId'>
  freshness: Freshness
  passwordGuesses: PasswordGuesses
  signInLimits: SignInLimits
  countedRequests: CountedRequests
}

export const changePasswordRoutes = (server: Server, deps: Dependencies) => {
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
