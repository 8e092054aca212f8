import { Type } from 'typebox'
import { isRefused } from '../contract/outcome.js'
import { PasskeyCredential, PasskeyRequestOptions } from '../contract/passkeys.js'
import { Accepted, SignedIn, StepUpMethods, TypedPassword } from '../contract/schemas.js'
import { clientDataOf } from '../factors/passkey-ceremonies.js'
import { clientOf } from '../http/request-origin.js'
import { route, withHeaders } from '../http/route.js'
import type { Server } from '../http/server.js'
import type { App } from '../service/open-http.js'
import { sendRenewed } from '../sessions/session-cookies.js'
import { beginPasskeyProof, findProver, mailProofCode, proveAgain } from './step-up.js'

const path = '/api/auth/step-up'
const clearsCeremony = {
  'Set-Cookie': 'With a credential: clears passkey_…, which bound the challenge to this browser',
}

const OneProof = Type.Object({
  password: Type.Optional(TypedPassword),
  code: Type.Optional(
    Type.String({ minLength: 1, maxLength: 64, description: 'Of the authenticator app, or a recovery code' }),
  ),
  mailedCode: Type.Optional(Type.String({ minLength: 1, maxLength: 32 })),
  credential: Type.Optional(PasskeyCredential),
})

export const stepUpRoutes = (server: Server, app: App) => {
  const { guards, callers, ceremonyCookies, passwordGuesses } = app

  route(server, `GET ${path}`, {
    guard: guards.read,
    tag: 'step-up',
    summary: 'The methods with which the caller can prove again who they are',
    refuses: ['cross_site'],
    answers: { 200: StepUpMethods },
    handle: async ({ request }) => {
      const prover = await findProver(app, callers.of(request))
      return isRefused(prover) ? prover : { methods: prover.methods }
    },
  })

  route(server, `POST ${path}`, {
    guard: guards.change,
    tag: 'step-up',
    summary: 'Prove again who you are; the session is fresh afterwards and gets new tokens',
    description:
      'Takes exactly one proof. 403 with `methods` if that proof is not enough for this account. Tokens of this session that were issued before are refused afterwards.',
    body: OneProof,
    refuses: [
      'bad_request',
      'wrong_current_password',
      'wrong_mailed_code',
      'wrong_second_factor',
      'passkey_rejected',
      'mailed_code_void',
      'fresh_sign_in_required',
      'too_many_logins',
      'busy',
    ],
    refusalHeaders: { 400: clearsCeremony, 401: clearsCeremony, 403: clearsCeremony },
    answers: { 200: withHeaders(SignedIn, { 'Set-Cookie': 'New access_token and refresh_token' }) },
    config: { countsIn: ['login', 'account', 'device_codes'] },
    onSend: app.countedRequests.refundSuccess,
    handle: async ({ body, request, reply }) => {
      const { credential, password } = body
      const sealedChallenge = ceremonyCookies.take(request, reply, credential && clientDataOf(credential)?.challenge)
      const prover = await findProver(app, callers.of(request))
      if (isRefused(prover)) return prover
      // A guess of the password counts like a sign-in. A code has its own tries, and must not lock the network out. A password that is no
      // proof for this account is not compared, so it does not count either.
      const { user, methods } = prover
      const isGuess = password !== undefined && methods.includes('password')
      if (isGuess && (await passwordGuesses.byUser(user, user.username, request, reply))) return reply
      const browser = app.signInCookies.browserOf(request)
      const issued = await proveAgain(app, callers.of(request), prover, { given: body, sealedChallenge, browser })
      return isRefused(issued) ? issued : sendRenewed(reply, app.cookies, issued)
    },
  })

  route(server, `POST ${path}/passkey/options`, {
    guard: guards.change,
    tag: 'step-up',
    summary: 'A challenge for a step-up with a passkey; answer it within 5 minutes, in this session',
    refuses: ['fresh_sign_in_required'],
    answers: { 200: withHeaders(PasskeyRequestOptions, { 'Set-Cookie': 'Binds the challenge to this browser' }) },
    handle: async ({ request, reply }) => {
      const begun = await beginPasskeyProof(app, callers.of(request))
      if (isRefused(begun)) return begun
      ceremonyCookies.keep(request, reply, begun.ceremony)
      return begun.options
    },
  })

  route(server, `POST ${path}/mail`, {
    guard: [app.needsMail, ...guards.changeLimitedBy(app.limits.mailedCodes)],
    tag: 'step-up',
    summary: 'Mail a code for the step-up, to an account that has no other method',
    refuses: ['fresh_sign_in_required', 'mail_is_off'],
    answers: { 202: Accepted },
    handle: async ({ request }) =>
      (await mailProofCode(app, callers.of(request), clientOf(request))) ?? { message: 'A mail is on its way' },
  })
}
