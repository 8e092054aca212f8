import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { longestPasskeyName } from '../contract/names.js'
import { isRefused } from '../contract/outcome.js'
import { PasskeyCreationOptions, PasskeyCredential } from '../contract/passkeys.js'
import { NoContent, Passkey, PasskeyAdded } from '../contract/schemas.js'

import { clientDataOf } from '../factors/passkey-ceremonies.js'
import type { Cookies } from '../http/cookies.js'
import { guardRefusals, routeRefusals } from '../http/route.js'
import type { Server } from '../http/server.js'

import type { CeremonyCookies } from '../http/tab-cookies.js'
import { uuidPattern } from '../lib/uuid.js'
import type { Callers } from '../sessions/callers.js'
import type { Guards } from '../sessions/guards.js'
import type { SignInCookies } from '../sessions/session-cookies.js'
import { sendContinuedSignIn, sendTokensOnly, withCookies, withHeaders } from '../sign-in/answers.js'
import { type Enrolling, enrollerSecurity } from '../sign-in/enrol-guard.js'

import type { createEnrolmentPasskeys, createOwnPasskeys } from './passkeys.js'

const freshRefusals = [...guardRefusals, 'fresh_sign_in_required'] as const

const enrolRefusals = [
  ...freshRefusals,
  'challenge_over',
  'mailed_code_required',
  'link_required',
  'current_password_required',
] as const
const beginRefusals = routeRefusals(...enrolRefusals)
const addRefusals = routeRefusals(...enrolRefusals, 'bad_request', 'passkey_rejected', 'too_many_passkeys')
const renameRefusals = routeRefusals(...guardRefusals, 'bad_request', 'not_found')
const removeRefusals = routeRefusals(...freshRefusals, 'bad_request', 'not_found', 'last_way_in', 'last_factor')

const clearsCeremony = 'Clears passkey_…, which bound the challenge to this browser'
const tags = ['factors']
const name = Type.String({ minLength: 1, maxLength: longestPasskeyName })
const params = Type.Object({ id: Type.String({ pattern: uuidPattern }) })
const schemas = {
  begin: {
    tags,
    security: enrollerSecurity,
    summary: 'Begin to add a passkey; answer the challenge within 5 minutes',
    response: {
      200: withHeaders(PasskeyCreationOptions, { 'Set-Cookie': 'Binds the challenge to this browser' }),
      ...withCookies(beginRefusals.responses, {
        401: 'After `next: "enrolment"`: clears challenge, if the sign-in is over',
      }),
    },
  },
  add: {
    tags,
    security: enrollerSecurity,
    summary: 'Add a passkey. After `next: "enrolment"` this also finishes the sign-in',
    body: Type.Object({ credential: PasskeyCredential, name: Type.Optional(name) }),
    response: {
      201: withHeaders(PasskeyAdded, { 'Set-Cookie': 'After `next: "enrolment"`: access_token and refresh_token' }),
      ...withCookies(addRefusals.responses, { 401: clearsCeremony, 403: clearsCeremony, 409: clearsCeremony }),
    },
  },
  rename: {
    tags,
    summary: 'Give a passkey another name',
    params,
    body: Type.Object({ name }),
    response: { 200: Passkey, ...renameRefusals.responses },
  },
  remove: {
    tags,
    summary: 'Remove a passkey, unless it is the last way in; ends the other sessions and gives this one new tokens',
    params,
    response: {
      204: withHeaders(NoContent, { 'Set-Cookie': 'New access_token and refresh_token' }),
      ...removeRefusals.responses,
    },
  },
}

type Dependencies = {
  guards: Guards
  ownPasskeys: ReturnType<typeof createOwnPasskeys>
  enrolmentPasskeys: ReturnType<typeof createEnrolmentPasskeys>
  ceremonyCookies: CeremonyCookies
  callers: Callers
  enrolling: Enrolling
  cookies: Cookies
  signInCookies: SignInCookies
}

export const passkeysRoutes = (server: Server, deps: Dependencies) => {
  const { guards, ownPasskeys, enrolmentPasskeys, ceremonyCookies, callers, enrolling, cookies, signInCookies } = deps
  const path = '/api/auth/passkeys'

  server.post(`${path}/options`, { schema: schemas.begin, onRequest: guards.enrol }, async (request, reply) => {
    const enroller = enrolling.of(request)
    const begun = await ('caller' in enroller
      ? ownPasskeys.begin(enroller.caller)
      : enrolmentPasskeys.begin(enroller.challenge))
    if (isRefused(begun)) return beginRefusals.sendRefusal(signInCookies.clearChallengeIfOver(reply, begun), begun)
    ceremonyCookies.keep(request, reply, begun.ceremony)
    return reply.send(begun.options)
  })

  type CreatedPasskey = Parameters<typeof ownPasskeys.add>[1]
  const addAtEnrolment = async (
    createdPasskey: CreatedPasskey,
    token: string,
    request: FastifyRequest,
    reply: FastifyReply,
  ) => {
    const finished = await enrolmentPasskeys.add(createdPasskey, token, signInCookies.visitOf(request))
    if (isRefused(finished))
      return addRefusals.sendRefusal(signInCookies.clearChallengeIfOver(reply, finished), finished)
    return sendContinuedSignIn(reply.status(201), { cookies, signInCookies }, finished.outcome, finished.added)
  }

  server.post(path, { schema: schemas.add, onRequest: guards.enrol }, async (request, reply) => {
    const { credential, name: typedName } = request.body
    const sealedChallenge = ceremonyCookies.take(request, reply, clientDataOf(credential)?.challenge)
    const enroller = enrolling.of(request)
    const createdPasskey = { credential, sealedChallenge, name: typedName }
    if ('challenge' in enroller) return addAtEnrolment(createdPasskey, enroller.challenge, request, reply)
    return addRefusals.answer(reply, await ownPasskeys.add(callers.contextOf(request), createdPasskey), 201)
  })

  server.patch(`${path}/:id`, { schema: schemas.rename, onRequest: guards.change }, async (request, reply) => {
    return renameRefusals.answer(
      reply,
      await ownPasskeys.rename(callers.contextOf(request), request.params.id, request.body.name),
    )
  })

  server.delete(`${path}/:id`, { schema: schemas.remove, onRequest: guards.sensitive }, async (request, reply) => {
    const removed = await ownPasskeys.remove(callers.contextOf(request), request.params.id)
    return isRefused(removed)
      ? removeRefusals.sendRefusal(reply, removed)
      : sendTokensOnly(reply, cookies, removed.issued)
  })
}
