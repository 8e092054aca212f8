import { Type } from 'typebox'
import { isRefused, refuse } from '../contract/outcome.js'
import { PasskeyCredential, PasskeyRequestOptions } from '../contract/passkeys.js'
import { SecondFactorNeeded, SignedIn } from '../contract/schemas.js'
import { clientDataOf } from '../factors/passkey-ceremonies.js'
import { route, withHeaders } from '../http/route.js'
import type { Server } from '../http/server.js'
import type { App } from '../service/open-http.js'
import type { Visit } from '../sessions/session-facts.js'
import { noteFailedSignIn, sendContinuedSignIn, sendSignInStep } from './answers.js'

/** For every failure the answer is the same. */
const reject = async (app: App, { client }: Visit, reason: string, userId: string | undefined) => {
  await noteFailedSignIn(app, client, { triedBy: 'passkey', reason: `passkey_${reason}`, userId })
  return refuse('passkey_rejected')
}

export const passkeyLoginRoutes = (server: Server, app: App) => {
  const { passkeyCeremonies, ceremonyCookies, signInCookies, signIns } = app

  route(server, 'POST /api/auth/passkey-login/options', {
    guard: [],
    tag: 'sign in',
    summary: 'A challenge for a sign-in with a passkey, the same for everyone; answer it within 5 minutes',
    refuses: ['cross_site'],
    answers: { 200: withHeaders(PasskeyRequestOptions, { 'Set-Cookie': 'Binds the challenge to this browser' }) },
    config: { unlimited: 'Every visitor of the sign-in page needs one, and the answer needs no store' },
    handle: async ({ request, reply }) => {
      const { ceremony, options } = passkeyCeremonies.signInOptions()
      ceremonyCookies.keep(request, reply, ceremony)
      return options
    },
  })

  route(server, 'POST /api/auth/passkey-login', {
    guard: [app.limits.beforeSignIn.passkey],
    tag: 'sign in',
    summary: 'Sign in with a passkey',
    description:
      'Needs no name. A passkey counts as two factors, and also finishes a sign-in of its account that waits for the second step.',
    body: Type.Object({ credential: PasskeyCredential }),
    refuses: ['bad_request', 'passkey_rejected', 'cross_site'],
    answers: {
      200: withHeaders(SignedIn, { 'Set-Cookie': 'access_token and refresh_token' }),
      202: withHeaders(SecondFactorNeeded, { 'Set-Cookie': 'challenge, for POST /api/auth/second-factor' }),
    },
    refusalHeaders: { 401: { 'Set-Cookie': 'Clears passkey_…, which bound the challenge to this browser' } },
    handle: async ({ body: { credential }, request, reply }) => {
      const sealedChallenge = ceremonyCookies.take(request, reply, clientDataOf(credential)?.challenge)
      // A sign-in of this browser that waits for its second step.
      const pendingToken = signInCookies.challengeOf(request)
      const visit = signInCookies.visitOf(request, {})
      const proven = await passkeyCeremonies.verify('sign_in', { credential, sealedChallenge, binding: '' })
      if (isRefused(proven)) return reject(app, visit, proven.reason, proven.userId)
      const entered = await signIns.byPasskey(proven, pendingToken, visit)
      if (!entered) return reject(app, visit, 'refused', proven.userId)
      const send = entered.hadWaited ? sendContinuedSignIn : sendSignInStep
      return send(reply, app, entered.outcome)
    },
  })
}
