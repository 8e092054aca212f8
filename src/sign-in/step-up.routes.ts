import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { isRefused, refuse } from '../contract/outcome.js'
import { PasskeyCredential, PasskeyRequestOptions } from '../contract/passkeys.js'
import { Accepted, SignedIn, StepUpMethods, TypedPassword } from '../contract/schemas.js'
import type { CeremonyCookies } from '../factors/passkey-ceremonies.js'
import { clientDataOf } from '../factors/passkey-ceremonies.js'
import type { Cookies } from '../http/cookies.js'
import type { CountedRequests } from '../http/limits.js'
import { clientOf } from '../http/request-origin.js'
import type { NeedsMail } from '../http/route.js'
import { guardRefusals, routeRefusals, withCookies, withHeaders } from '../http/route.js'
import type { Server } from '../http/server.js'
import type { Callers } from '../sessions/callers.js'
import type { Guards, Limits } from '../sessions/guards.js'
import type { SignInCookies } from '../sessions/session-cookies.js'
import { sendRenewed } from '../sessions/session-cookies.js'
import type { PasswordGuesses } from './guess-limits.js'
import type { createStepUp, GivenProof } from './step-up.js'

const methodsRefusals = routeRefusals('not_authenticated', 'cross_site', 'too_many_requests', 'unavailable')
const askRefusals = routeRefusals(...guardRefusals, 'fresh_sign_in_required')
const mailRefusals = routeRefusals(...guardRefusals, 'fresh_sign_in_required', 'mail_is_off')
const proveRefusals = routeRefusals(
  ...guardRefusals,
  'bad_request',
  'wrong_current_password',
  'wrong_mailed_code',
  'wrong_second_factor',
  'passkey_rejected',
  'mailed_code_void',
  'fresh_sign_in_required',
  'too_many_logins',
  'busy',
)

const clearsCeremony = 'With a credential: clears passkey_…, which bound the challenge to this browser'

const methodsSchema = {
  tags: ['step-up'],
  summary: 'The methods with which the caller can prove again who they are',
  response: { 200: StepUpMethods, ...methodsRefusals.responses },
}
const proveSchema = {
  tags: ['step-up'],
  summary: 'Prove again who you are; the session is fresh afterwards and gets new tokens',
  description:
    'Takes exactly one proof. 403 with `methods` if that proof is not enough for this account. Tokens of this session that were issued before are refused afterwards.',
  body: Type.Object({
    password: Type.Optional(TypedPassword),
    code: Type.Optional(
      Type.String({ minLength: 1, maxLength: 64, description: 'Of the authenticator app, or a recovery code' }),
    ),
    mailedCode: Type.Optional(Type.String({ minLength: 1, maxLength: 32 })),
    credential: Type.Optional(PasskeyCredential),
  }),
  response: {
    200: withHeaders(SignedIn, { 'Set-Cookie': 'New access_token and refresh_token' }),
    ...withCookies(proveRefusals.responses, {
      400: clearsCeremony,
      401: clearsCeremony,
      403: clearsCeremony,
    }),
  },
}
const passkeySchema = {
  tags: ['step-up'],
  summary: 'A challenge for a step-up with a passkey; answer it within 5 minutes, in this session',
  response: {
    200: withHeaders(PasskeyRequestOptions, { 'Set-Cookie': 'Binds the challenge to this browser' }),
    ...askRefusals.responses,
  },
}
const mailSchema = {
  tags: ['step-up'],
  summary: 'Mail a code for the step-up, to an account that has no other method',
  response: { 202: Accepted, ...mailRefusals.responses },
}

type Dependencies = {
  guards: Guards
  stepUp: ReturnType<typeof createStepUp>
  callers: Callers
  cookies: Cookies
  ceremonyCookies: CeremonyCookies
  limits: Limits
  needsMail: NeedsMail
  passwordGuesses: PasswordGuesses
  countedRequests: CountedRequests
  signInCookies: SignInCookies
}

export const stepUpRoutes = (server: Server, deps: Dependencies) => {
  const { guards, stepUp, callers, cookies, ceremonyCookies, limits, needsMail } = deps
  const { signInCookies, passwordGuesses, countedRequests } = deps
  const path = '/api/auth/step-up'

  server.get(path, { schema: methodsSchema, onRequest: guards.read }, async (request, reply) => {
    const methods = await stepUp.methods(callers.of(request))
    return isRefused(methods) ? methodsRefusals.sendRefusal(reply, methods) : methods
  })

  /**
   * A guess of the password counts like a sign-in. A code has its own tries, and must not lock the network out. A password that is no
   * proof for this account is not compared, so it does not count either.
   */
  const countPassword = async (request: FastifyRequest, reply: FastifyReply) => {
    const { password } = request.body as GivenProof
    if (password === undefined) return undefined
    const found = await stepUp.methods(callers.of(request))
    if (!isRefused(found) && !found.methods.includes('password')) return undefined
    return passwordGuesses.byCaller(request, reply)
  }

  const proveOptions = {
    schema: proveSchema,
    onRequest: guards.change,
    preHandler: countPassword,
    config: { countsIn: ['login', 'account', 'device_codes'] as const },
    onSend: countedRequests.refundSuccess,
  }
  server.post(path, proveOptions, async (request, reply) => {
    const { credential } = request.body
    const sealedChallenge = ceremonyCookies.take(request, reply, credential && clientDataOf(credential)?.challenge)
    const visit = signInCookies.visitOf(request)
    const issued = await stepUp.prove(callers.of(request), { given: request.body, sealedChallenge, visit })
    if (!isRefused(issued)) return sendRenewed(reply, cookies, issued)
    if (issued.refused !== 'too_many_codes') return proveRefusals.sendRefusal(reply, issued)
    return proveRefusals.sendRefusal(reply, refuse('too_many_requests', { retryAfter: issued.retryAfter }))
  })

  const beginOptions = { schema: passkeySchema, onRequest: guards.change }
  server.post(`${path}/passkey/options`, beginOptions, async (request, reply) => {
    const begun = await stepUp.beginPasskey(callers.of(request))
    if (isRefused(begun)) return askRefusals.sendRefusal(reply, begun)
    ceremonyCookies.keep(request, reply, begun.ceremony)
    return reply.send(begun.options)
  })

  server.post(
    `${path}/mail`,
    { schema: mailSchema, onRequest: [needsMail, ...guards.changeLimitedBy(limits.mailedCodes)] },
    async (request, reply) => {
      const refused = await stepUp.mailCode(callers.of(request), clientOf(request))
      return refused
        ? mailRefusals.sendRefusal(reply, refused)
        : reply.status(202).send({ message: 'A mail is on its way' })
    },
  )
}
