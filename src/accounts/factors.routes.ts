import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { renderSVG } from 'uqr'
import { isRefused } from '../contract/outcome.js'
import { Factors, NoContent, RecoveryCodes, TotpBegun, TotpConfirmed } from '../contract/schemas.js'
import type { Cookies } from '../http/cookies.js'
import { guardRefusals, routeRefusals } from '../http/route.js'
import type { Server } from '../http/server.js'

import { uuidPattern } from '../lib/uuid.js'
import type { Callers } from '../sessions/callers.js'
import type { Guards } from '../sessions/guards.js'
import type { SignInCookies } from '../sessions/session-cookies.js'
import { sendContinuedSignIn, sendTokensOnly, withCookies, withHeaders } from '../sign-in/answers.js'
import { type Enrolling, enrollerSecurity } from '../sign-in/enrol-guard.js'

import type { createOwnFactors, createTotpEnrolment } from './factors.js'

const freshRefusals = [...guardRefusals, 'fresh_sign_in_required'] as const

const listRefusals = routeRefusals('not_authenticated', 'too_many_requests', 'unavailable')
const enrolRefusals = [
  ...freshRefusals,
  'challenge_over',
  'mailed_code_required',
  'link_required',
  'current_password_required',
  'totp_is_on',
] as const
const beginRefusals = routeRefusals(...enrolRefusals)
const confirmRefusals = routeRefusals(...enrolRefusals, 'bad_request', 'wrong_second_factor', 'no_totp_begun')
const removeRefusals = routeRefusals(...freshRefusals, 'totp_is_off', 'last_factor')
const changeRefusals = routeRefusals(...freshRefusals, 'totp_is_off')
const deviceRefusals = routeRefusals(...freshRefusals, 'bad_request', 'not_found')

const clearsChallenge = { 401: 'After `next: "enrolment"`: clears challenge, if the sign-in is over' }
const tags = ['factors']
const schemas = {
  list: {
    tags,
    summary: "What the caller's account can sign in with",
    response: { 200: Factors, ...listRefusals.responses },
  },
  begin: {
    tags,
    security: enrollerSecurity,
    summary: 'Begin to add an authenticator app; confirm it with a code within 10 minutes',
    response: { 200: TotpBegun, ...withCookies(beginRefusals.responses, clearsChallenge) },
  },
  confirm: {
    tags,
    security: enrollerSecurity,
    summary:
      'Switch two-step sign-in on; ends the other sessions and shows the recovery codes once. After `next: "enrolment"` it also finishes the sign-in',
    body: Type.Object({ code: Type.String({ minLength: 1, maxLength: 64 }) }),
    response: {
      200: withHeaders(TotpConfirmed, { 'Set-Cookie': 'After `next: "enrolment"`: access_token and refresh_token' }),
      ...withCookies(confirmRefusals.responses, clearsChallenge),
    },
  },
  remove: {
    tags,
    summary: 'Switch two-step sign-in off; ends the other sessions and gives this one new tokens',
    response: {
      204: withHeaders(NoContent, { 'Set-Cookie': 'New access_token and refresh_token' }),
      ...removeRefusals.responses,
    },
  },
  renew: {
    tags,
    summary: 'Make new recovery codes; the old ones do not work any more',
    response: { 200: RecoveryCodes, ...changeRefusals.responses },
  },
  removeDevice: {
    tags,
    summary: 'Ask for a code again in a browser that was trusted',
    params: Type.Object({ id: Type.String({ pattern: uuidPattern }) }),
    response: { 204: NoContent, ...deviceRefusals.responses },
  },
}

type Dependencies = {
  guards: Guards
  ownFactors: ReturnType<typeof createOwnFactors>
  totpEnrolment: ReturnType<typeof createTotpEnrolment>
  callers: Callers
  enrolling: Enrolling
  cookies: Cookies
  signInCookies: SignInCookies
}

export const factorsRoutes = (server: Server, deps: Dependencies) => {
  const { guards, ownFactors, totpEnrolment, callers, enrolling, cookies, signInCookies } = deps

  server.get('/api/auth/factors', { schema: schemas.list, onRequest: guards.read }, async (request, reply) => {
    return listRefusals.answer(reply, await ownFactors.list(callers.of(request)))
  })

  server.post('/api/auth/totp', { schema: schemas.begin, onRequest: guards.enrol }, async (request, reply) => {
    const enroller = enrolling.of(request)
    const totp = await ('caller' in enroller
      ? ownFactors.begin(enroller.caller)
      : totpEnrolment.begin(enroller.challenge))
    if (isRefused(totp)) return beginRefusals.sendRefusal(signInCookies.clearChallengeIfOver(reply, totp), totp)
    return reply.send({ ...totp, qr: renderSVG(totp.uri, { border: 4 }) })
  })

  const confirmAtEnrolment = async (code: string, token: string, request: FastifyRequest, reply: FastifyReply) => {
    const finished = await totpEnrolment.confirm(code, token, signInCookies.visitOf(request))
    if (isRefused(finished))
      return confirmRefusals.sendRefusal(signInCookies.clearChallengeIfOver(reply, finished), finished)
    const { outcome, recoveryCodes } = finished
    return sendContinuedSignIn(reply, { cookies, signInCookies }, outcome, { recoveryCodes })
  }

  server.post(
    '/api/auth/totp/confirm',
    { schema: schemas.confirm, onRequest: guards.enrol },
    async (request, reply) => {
      const enroller = enrolling.of(request)
      const { code } = request.body
      if ('challenge' in enroller) return confirmAtEnrolment(code, enroller.challenge, request, reply)
      return confirmRefusals.answer(reply, await ownFactors.confirm(callers.contextOf(request), code))
    },
  )

  server.delete('/api/auth/totp', { schema: schemas.remove, onRequest: guards.sensitive }, async (request, reply) => {
    const removed = await ownFactors.remove(callers.contextOf(request))
    return isRefused(removed)
      ? removeRefusals.sendRefusal(reply, removed)
      : sendTokensOnly(reply, cookies, removed.issued)
  })

  server.post(
    '/api/auth/recovery-codes',
    { schema: schemas.renew, onRequest: guards.sensitive },
    async (request, reply) => {
      return changeRefusals.answer(reply, await ownFactors.renewRecoveryCodes(callers.contextOf(request)))
    },
  )

  const removeDeviceOptions = { schema: schemas.removeDevice, onRequest: guards.sensitive }
  server.delete('/api/auth/trusted-devices/:id', removeDeviceOptions, async (request, reply) => {
    const removed = await ownFactors.removeTrustedDevice(callers.contextOf(request), request.params.id)
    return deviceRefusals.answer(reply, isRefused(removed) ? removed : undefined, 204)
  })
}
