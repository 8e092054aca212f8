import { Type } from 'typebox'
import { MailRegistration } from '../contract/mailed-links.js'
import { longestName } from '../contract/names.js'
import { isRefused, refuse } from '../contract/outcome.js'
import type { UsernameSource } from '../contract/pages.js'
import { ProfileFieldChanges } from '../contract/profile-fields.js'
import { SecondFactorNeeded, SignedIn, TypedUsername, withRequiredUsername } from '../contract/schemas.js'

import type { Cookies } from '../http/cookies.js'
import { routeRefusals } from '../http/route.js'
import type { Server } from '../http/server.js'

import type { Limits } from '../sessions/guards.js'
import type { SignInCookies } from '../sessions/session-cookies.js'

import type { Email } from '../users/names.js'
import type { Ceilings } from './ceilings.js'
import type { createMailRegistration } from './mail-registration.js'
import { sendSignInStep, withHeaders } from './responses.js'

const describeRefusals = routeRefusals('challenge_over', 'too_many_requests', 'unavailable')
const registerRefusals = routeRefusals(
  'bad_request',
  'username_length',
  'username_at_sign',
  'username_characters',
  'username_edges',
  'username_alphabets',
  'challenge_over',
  'registration_closed',
  'invitation_required',
  'email_domain_not_allowed',
  'cross_site',
  'already_registered',
  'username_taken',
  'invalid_fields',
  'terms_changed',
  'too_many_requests',
  'unavailable',
)

const tags = ['sign in']
const schemas = {
  describe: {
    tags,
    summary: 'What the registration of this browser asks for, after its address was proven by the mail',
    response: { 200: MailRegistration, ...describeRefusals.responses },
  },
  register: {
    tags,
    summary: 'Make the account of an address that was proven by the mail, and sign in',
    body: Type.Object({
      username: Type.Optional(TypedUsername),
      name: Type.Optional(Type.String({ maxLength: longestName })),
      fields: Type.Optional(ProfileFieldChanges),
      terms: Type.Optional(Type.String({ maxLength: 64, description: 'The version that the user agrees to' })),
    }),
    response: {
      200: withHeaders(SignedIn, { 'Set-Cookie': 'access_token and refresh_token; clears attempt_mail' }),
      202: withHeaders(SecondFactorNeeded, { 'Set-Cookie': 'challenge, for POST /api/auth/second-factor' }),
      ...registerRefusals.responses,
    },
  },
}

type Dependencies = {
  mailRegistration: ReturnType<typeof createMailRegistration>
  usernameSource: UsernameSource
  limits: Limits
  ceilings: Pick<Ceilings, 'findExcessOfProven' | 'answerExcess'>
  cookies: Cookies
  signInCookies: SignInCookies
}

const path = '/api/auth/mail-login'

/** The registration of an address that has no account yet. */
export const mailRegistrationRoutes = (server: Server, deps: Dependencies) => {
  const { mailRegistration, usernameSource, cookies, signInCookies, limits, ceilings } = deps
  const registerSchema = { ...schemas.register, body: withRequiredUsername(schemas.register.body, usernameSource) }
  const onRequest = limits.byNetwork
  server.get(`${path}/registration`, { schema: schemas.describe, onRequest }, async (request, reply) => {
    const description = await mailRegistration.describe(cookies.read(request, 'attempt_mail') ?? '')
    return description ? reply.send(description) : describeRefusals.sendRefusal(reply, refuse('challenge_over'))
  })

  const config = { countsIn: ['total_registrations'] as const }
  server.post(`${path}/registration`, { schema: registerSchema, onRequest, config }, async (request, reply) => {
    const browserToken = cookies.read(request, 'attempt_mail') ?? ''
    const findExcess = (email: Email) => ceilings.findExcessOfProven(email, request)
    const visit = signInCookies.visitOf(request)
    const outcome = await mailRegistration.complete(browserToken, request.body, visit, findExcess)
    if (isRefused(outcome))
      return outcome.refused === 'too_many_requests'
        ? ceilings.answerExcess(reply, 'total_registrations', outcome.excess)
        : registerRefusals.sendRefusal(reply, outcome)
    cookies.clear(reply, 'attempt_mail')
    return sendSignInStep(reply, { cookies, signInCookies }, outcome)
  })
}
