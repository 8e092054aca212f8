import { Type } from 'typebox'
import { isRefused } from '../../contract/outcome.js'
import { Accepted, NoContent } from '../../contract/schemas.js'
import type { KnownDevices } from '../../domain/known-devices/known-devices.js'
import { atLeast, minResponseTime } from '../../http/at-least.js'
import { clientOf } from '../../http/client.js'
import type { Cookies } from '../../http/cookies/cookies.js'
import type { SignInCookies } from '../../http/cookies/sign-in-cookies.js'
import type { CountedRequests } from '../../http/limits/counted-requests.js'
import type { Limits } from '../../http/limits/limits.js'
import type { MailLimits } from '../../http/limits/mail-limits.js'
import type { SignInLimits } from '../../http/limits/sign-in-limits.js'
import { withHeaders } from '../../http/responses.js'
import { routeRefusals } from '../../http/route-refusals.js'
import type { Server } from '../../http/server.js'
import type { createResetPassword } from './reset-password.js'

/** The same body in every case: it does not show whether the email has an account. */
const accepted = { message: 'If this address has an account, a mail is on its way' }

const requestRefusals = routeRefusals('bad_request', 'cross_site', 'too_many_attempts', 'unavailable')
const checkRefusals = routeRefusals('bad_request', 'invalid_link', 'cross_site', 'too_many_requests', 'unavailable')
const confirmRefusals = routeRefusals(
  'bad_request',
  'invalid_link',
  'cross_site',
  'password_rejected',
  'too_many_requests',
  'busy',
  'unavailable',
)

const requestSchema = {
  tags: ['reset password'],
  summary: 'Request a password reset mail',
  body: Type.Object({ email: Type.String({ minLength: 3, maxLength: 254 }) }),
  response: { 202: Accepted, ...requestRefusals.responses },
}
const tokenShape = Type.String({ minLength: 1, maxLength: 128 })
const checkSchema = {
  tags: ['reset password'],
  summary: 'Whether a link still works, and the username that it is for; changes nothing',
  body: Type.Object({ token: tokenShape }),
  response: { 200: Type.Object({ username: Type.String() }), ...checkRefusals.responses },
}
const confirmSchema = {
  tags: ['reset password'],
  summary: 'Choose a new password with the token from the mail; ends every session of the user',
  body: Type.Object({
    token: tokenShape,
    password: Type.String({ minLength: 1, maxLength: 1024 }),
  }),
  response: {
    204: withHeaders(NoContent, { 'Set-Cookie': 'known_device' }),
    ...confirmRefusals.responses,
  },
}

type Dependencies = {
  resetPassword: ReturnType<typeof createResetPassword>
  knownDevices: KnownDevices
  signInCookies: SignInCookies
  cookies: Cookies
  limits: Limits
  mailLimits: MailLimits
  signInLimits: SignInLimits
  countedRequests: CountedRequests
}

export const resetPasswordRoutes = (server: Server, deps: Dependencies) => {
  const { resetPassword, knownDevices, signInCookies, cookies, limits, mailLimits, signInLimits, countedRequests } =
    deps
  const requesting = {
    schema: requestSchema,
    onRequest: limits.sensitive,
    config: { countsIn: ['network_mails'] as const },
  }
  for (const path of ['/reset-password', '/api/auth/reset-password']) {
    server.post(path, requesting, async (request, reply) => {
      const withheld = !(await mailLimits.mayMailStranger(request))
      await atLeast(minResponseTime, resetPassword.request(request.body.email, clientOf(request), withheld))
      return reply.status(202).send(accepted)
    })
  }

  const checking = { schema: checkSchema, onRequest: limits.byNetwork }
  server.post('/api/auth/reset-password/check', checking, async (request, reply) => {
    const user = await resetPassword.look(request.body.token)
    return checkRefusals.answer(reply, isRefused(user) ? user : { username: user.username })
  })

  const confirming = { schema: confirmSchema, onRequest: limits.confirm, onSend: countedRequests.refundSuccess }
  server.post('/api/auth/reset-password/confirm', confirming, async (request, reply) => {
    const { token, password } = request.body
    const result = await resetPassword.confirm(token, password, clientOf(request))
    if (isRefused(result)) return confirmRefusals.sendRefusal(reply, result)
    await mailLimits.forgetMailedCodes(result.id)
    await signInLimits.forgetSignIns(result, request)
    // So that the owner of an account that others are guessing at gets in here.
    cookies.keepKnownDevice(reply, knownDevices.remember(result, signInCookies.knownIn(request)))
    return reply.status(204).send()
  })
}
