import { Type } from 'typebox'
import { isRefused, refuse } from '../contract/outcome.js'
import { PasskeyCredential, PasskeyRequestOptions } from '../contract/passkeys.js'
import { SecondFactorNeeded, SignedIn } from '../contract/schemas.js'
import type { CeremonyCookies } from '../factors/ceremony-cookies.js'
import { clientDataOf, type PasskeyCeremonies } from '../factors/passkey-ceremonies.js'
import type { Cookies } from '../http/cookies.js'
import { routeRefusals, withCookies, withHeaders } from '../http/route.js'
import type { Server } from '../http/server.js'
import { minResponseTime, takeAtLeast } from '../lib/timing.js'
import type { Events } from '../messages/events.js'
import type { Limits } from '../sessions/guards.js'
import type { SignInCookies } from '../sessions/session-cookies.js'
import { sendContinuedSignIn, sendSignInStep } from './answers.js'
import type { SignIns, Visit } from './sign-ins.js'

type PasskeyAnswer = {
  credential: PasskeyCredential
  sealedChallenge: string | undefined
  /** The sign-in of this browser that waits for its second step. */
  challenge: string | undefined
}

/** Signs in with a passkey. For every failure the answer is the same. */
export const createPasskeyLogin = (deps: {
  passkeyCeremonies: PasskeyCeremonies
  signIns: SignIns
  events: Events
}) => {
  const { passkeyCeremonies, signIns, events } = deps

  const reject = async ({ client }: Visit, reason: string, userId?: string) => {
    const failed = { kind: 'sign_in_failed', reason: `passkey_${reason}`, triedBy: 'passkey' } as const
    await takeAtLeast(minResponseTime, events.record({ ...failed, ...(userId !== undefined && { userId }) }, client))
    return refuse('passkey_rejected')
  }

  return async ({ credential, sealedChallenge, challenge }: PasskeyAnswer, visit: Visit) => {
    const proven = await passkeyCeremonies.verify('sign_in', { credential, sealedChallenge, binding: '' })
    if (isRefused(proven)) return reject(visit, proven.reason, proven.userId)
    return (await signIns.byPasskey(proven, challenge, visit)) ?? reject(visit, 'refused', proven.userId)
  }
}

const beginRefusals = routeRefusals('cross_site')
const { responses, sendRefusal } = routeRefusals(
  'bad_request',
  'passkey_rejected',
  'cross_site',
  'too_many_requests',
  'unavailable',
)

const tags = ['sign in']
const beginSchema = {
  tags,
  summary: 'A challenge for a sign-in with a passkey, the same for everyone; answer it within 5 minutes',
  response: {
    200: withHeaders(PasskeyRequestOptions, { 'Set-Cookie': 'Binds the challenge to this browser' }),
    ...beginRefusals.responses,
  },
}
const schema = {
  tags,
  summary: 'Sign in with a passkey',
  description:
    'Needs no name. A passkey counts as two factors, and also finishes a sign-in of its account that waits for the second step.',
  body: Type.Object({ credential: PasskeyCredential }),
  response: {
    200: withHeaders(SignedIn, { 'Set-Cookie': 'access_token and refresh_token' }),
    202: withHeaders(SecondFactorNeeded, { 'Set-Cookie': 'challenge, for POST /api/auth/second-factor' }),
    ...withCookies(responses, { 401: 'Clears passkey_…, which bound the challenge to this browser' }),
  },
}

type Dependencies = {
  passkeyLogin: ReturnType<typeof createPasskeyLogin>
  passkeyCeremonies: PasskeyCeremonies
  ceremonyCookies: CeremonyCookies
  signInCookies: SignInCookies
  cookies: Cookies
  limits: Limits
}

export const passkeyLoginRoutes = (server: Server, deps: Dependencies) => {
  const { passkeyLogin, passkeyCeremonies, ceremonyCookies, signInCookies, cookies, limits } = deps
  const path = '/api/auth/passkey-login'

  const config = { unlimited: 'Every visitor of the sign-in page needs one, and the answer needs no store' }
  server.post(`${path}/options`, { schema: beginSchema, config }, async (request, reply) => {
    const { ceremony, options } = passkeyCeremonies.signInOptions()
    ceremonyCookies.keep(request, reply, ceremony)
    return reply.send(options)
  })

  server.post(path, { schema, onRequest: limits.beforeSignIn.passkey }, async (request, reply) => {
    const { credential } = request.body
    const sealedChallenge = ceremonyCookies.take(request, reply, clientDataOf(credential)?.challenge)
    const challenge = signInCookies.challengeOf(request)
    const entered = await passkeyLogin({ credential, sealedChallenge, challenge }, signInCookies.visitOf(request))
    if (isRefused(entered)) return sendRefusal(reply, entered)
    const send = entered.hadChallenge ? sendContinuedSignIn : sendSignInStep
    return send(reply, { cookies, signInCookies }, entered.outcome)
  })
}
