import { Type } from 'typebox'
import { isRefused, refuse } from '../../contract/outcome.js'
import { SecondFactorWaiting, SignedIn } from '../../contract/schemas.js'
import type { TrustedDevices } from '../../domain/factors/trusted-devices.js'
import type { SignIns } from '../../domain/sign-in/sign-ins.js'
import type { Cookies } from '../../http/cookies.js'
import type { Limits } from '../../http/limits.js'
import { sendSignedIn, withHeaders } from '../../http/responses.js'
import { routeRefusals } from '../../http/route-refusals.js'
import type { Server } from '../../http/server.js'
import type { SignInCookies } from '../../http/sign-in-cookies.js'

const lookRefusals = routeRefusals('challenge_over', 'too_many_requests', 'unavailable')
const { responses, sendRefusal } = routeRefusals(
  'bad_request',
  'wrong_second_factor',
  'challenge_over',
  'cross_site',
  'too_many_requests',
  'unavailable',
)

const needsChallenge = {
  security: [{ challenge: [] }],
  description: 'Needs the challenge cookie. The number of requests is limited.',
}
const lookSchema = {
  tags: ['sign in'],
  summary: 'What the sign-in of this browser still needs',
  ...needsChallenge,
  response: { 200: SecondFactorWaiting, ...lookRefusals.responses },
}
const schema = {
  tags: ['sign in'],
  summary: 'Finish a sign-in with a code of the authenticator app or a recovery code',
  ...needsChallenge,
  body: Type.Object({
    code: Type.String({ minLength: 1, maxLength: 64, description: 'Spaces and hyphens are ignored' }),
    trustDevice: Type.Optional(
      Type.Boolean({ description: 'Ask for no code in this browser for a while. Not with a recovery code' }),
    ),
  }),
  response: {
    200: withHeaders(SignedIn, { 'Set-Cookie': 'access_token and refresh_token; trusted_device if it was asked for' }),
    ...responses,
  },
}

type Dependencies = {
  signIns: SignIns
  trustedDevices: Pick<TrustedDevices, 'areOffered'>
  signInCookies: SignInCookies
  cookies: Cookies
  limits: Limits
}

export const secondFactorRoutes = (server: Server, deps: Dependencies) => {
  const { signIns, trustedDevices, signInCookies, cookies, limits } = deps
  const path = '/api/auth/second-factor'
  const onRequest = limits.byNetwork

  server.get(path, { schema: lookSchema, onRequest }, async (request, reply) => {
    const token = signInCookies.challengeOf(request)
    const waiting = token === undefined ? undefined : await signIns.challengeOf(token)
    if (!waiting) {
      signInCookies.clearChallenge(reply)
      return lookRefusals.sendRefusal(reply, refuse('challenge_over'))
    }
    const { methods, expiresAt } = waiting
    return reply.send({ methods, expiresAt: expiresAt.toISOString(), trustDevice: trustedDevices.areOffered })
  })

  server.post(path, { schema, onRequest }, async (request, reply) => {
    const token = signInCookies.challengeOf(request)
    const { code, trustDevice = false } = request.body
    const finished =
      token === undefined
        ? refuse('challenge_over')
        : await signIns.bySecondFactor({ token, code, trustDevice }, signInCookies.visitOf(request))
    if (isRefused(finished)) {
      if (finished.refused === 'challenge_over') signInCookies.clearChallenge(reply)
      if (finished.refused !== 'too_many_codes') return sendRefusal(reply, finished)
      const { retryAfter } = finished
      return sendRefusal(reply, refuse('too_many_requests', { retryAfter }))
    }
    signInCookies.clearChallenge(reply)
    if (finished.trustedDevices !== undefined) signInCookies.trust(reply, finished.trustedDevices)
    return sendSignedIn(reply, cookies, finished.issued)
  })
}
