import { Type } from 'typebox'
import { isRefused } from '../contract/outcome.js'
import { SecondFactorNeeded, SignedIn, TypedPassword } from '../contract/schemas.js'

import type { Cookies } from '../http/cookies.js'
import type { CountedRequests } from '../http/limits.js'
import { routeRefusals } from '../http/route.js'
import type { Server } from '../http/server.js'

import type { Limits } from '../sessions/guards.js'
import type { SignInCookies } from '../sessions/session-cookies.js'

import type { createLogin } from './login.js'
import type { PasswordGuesses } from './password-guesses.js'
import { sendSignInStep, withHeaders } from './responses.js'
import type { SignInLimits } from './sign-in-limits.js'

const { responses, sendRefusal } = routeRefusals(
  'bad_request',
  'invalid_credentials',
  'email_not_confirmed',
  'cross_site',
  'too_many_logins',
  'busy',
  'unavailable',
)

const schema = {
  tags: ['sign in'],
  summary: 'Sign in with a username or an email, and a password',
  body: Type.Object({
    username: Type.String({ minLength: 1, maxLength: 254 }),
    password: TypedPassword,
  }),
  response: {
    200: SignedIn,
    202: withHeaders(SecondFactorNeeded, { 'Set-Cookie': 'challenge, for POST /api/auth/second-factor' }),
    ...responses,
  },
}

type Dependencies = {
  login: ReturnType<typeof createLogin>
  limits: Limits
  passwordGuesses: PasswordGuesses
  signInLimits: SignInLimits
  countedRequests: CountedRequests
  cookies: Cookies
  signInCookies: SignInCookies
}

export const loginRoutes = (server: Server, deps: Dependencies) => {
  const { login, limits, passwordGuesses, signInLimits, countedRequests, cookies, signInCookies } = deps
  const options = {
    schema,
    onRequest: limits.beforeSignIn.password,
    preHandler: passwordGuesses.byName,
    onSend: countedRequests.refundSuccess,
    config: { countsIn: ['device', 'known', 'sign_ins', 'known_sign_ins', 'network_sign_ins'] as const },
  }
  for (const path of ['/login', '/api/auth/login']) {
    server.post(path, options, async (request, reply) => {
      const { username, password } = request.body
      const browserToken = cookies.read(request, 'registration')
      const browserVisit = signInCookies.visitOf(request)
      const visit = { ...browserVisit, client: { ...browserVisit.client, typedName: username } }
      const proven = await login.prove(username, password, browserToken, visit)
      if (isRefused(proven)) return sendRefusal(reply, proven)
      const limited = await signInLimits.countSignIn(proven.user, request, reply)
      if (limited) return reply
      const result = await login.enter(proven, password, visit)
      return isRefused(result) ? sendRefusal(reply, result) : sendSignInStep(reply, { cookies, signInCookies }, result)
    })
  }
}
