import { Type } from 'typebox'
import { longestName } from '../contract/names.js'
import { isRefused } from '../contract/outcome.js'
import type { UsernameSource } from '../contract/pages.js'
import { ProfileFieldChanges } from '../contract/profile-fields.js'
import {
  Accepted,
  SecondFactorNeeded,
  SendingApplication,
  SignedIn,
  TypedPassword,
  TypedUsername,
  withRequiredUsername,
} from '../contract/schemas.js'

import type { Cookies } from '../http/cookies.js'
import { routeRefusals } from '../http/route.js'
import type { Server } from '../http/server.js'

import type { Limits } from '../sessions/guards.js'
import type { SignInCookies } from '../sessions/session-cookies.js'

import type { Ceilings } from '../sign-in/ceilings.js'
import type { MailLimits } from '../sign-in/mail-limits.js'
import { sendSignInStep, withHeaders } from '../sign-in/responses.js'
import type { createRegister } from './register.js'

/** The body is the same in every case, so it does not show whether the email has an account. */
const acceptedBody = { message: 'Check your mail to finish the registration' }

const { responses, sendRefusal } = routeRefusals(
  'bad_request',
  'email_shape',
  'username_length',
  'username_at_sign',
  'username_characters',
  'username_edges',
  'username_alphabets',
  'mail_is_off',
  'registration_closed',
  'invitation_required',
  'invalid_invitation',
  'email_domain_not_allowed',
  'cross_site',
  'username_taken',
  'already_registered',
  'password_rejected',
  'invalid_fields',
  'terms_changed',
  'too_many_requests',
  'busy',
  'unavailable',
)

const signedInCookies = 'access_token, refresh_token and known_device'

const schema = {
  tags: ['registration'],
  summary: 'Register; the account is created when the email is confirmed',
  description:
    '200: the mailed link of an invitation has proven the address. 201: the invitation was printed for an operator, so the account is there at once and its address stays unproven.',
  body: Type.Object({
    username: Type.Optional(TypedUsername),
    // The schema allows more than an email may have, so that the rule for emails gives the refusal.
    email: Type.String({ maxLength: 1024 }),
    password: TypedPassword,
    name: Type.Optional(Type.String({ maxLength: longestName })),
    fields: Type.Optional(ProfileFieldChanges),
    terms: Type.Optional(Type.String({ maxLength: 64, description: 'The version that the user agrees to' })),
    invite: Type.Optional(Type.String({ maxLength: 1024, description: 'The token of an invitation for this address' })),
    application: Type.Optional(SendingApplication),
    signIn: Type.Optional(
      Type.Boolean({
        description:
          'With the mailed link of an invitation for exactly this address: the account is created at once, and its user is signed in',
      }),
    ),
  }),
  response: {
    200: withHeaders(SignedIn, { 'Set-Cookie': signedInCookies }),
    201: withHeaders(SignedIn, { 'Set-Cookie': signedInCookies }),
    202: withHeaders(Type.Union([Accepted, SecondFactorNeeded]), {
      'Set-Cookie':
        'registration, which ties this browser to the registration; or challenge, if the account was created at once and a step is missing',
    }),
    ...responses,
  },
}

type Dependencies = {
  register: ReturnType<typeof createRegister>
  usernameSource: UsernameSource
  limits: Limits
  mailLimits: MailLimits
  ceilings: Pick<Ceilings, 'findExcess' | 'answerExcess'>
  cookies: Cookies
  signInCookies: SignInCookies
}

export const registerRoutes = (server: Server, deps: Dependencies) => {
  const { register, usernameSource, limits, mailLimits, ceilings, cookies, signInCookies } = deps
  const options = {
    schema: { ...schema, body: withRequiredUsername(schema.body, usernameSource) },
    onRequest: limits.beforeSignIn.registration,
    config: { countsIn: ['network_mails', 'total_registrations', 'total_mails', 'total_newcomer_mails'] as const },
  }
  server.post('/api/auth/register', options, async (request, reply) => {
    const counting = {
      findExcess: () => ceilings.findExcess('total_registrations', request),
      mayMail: () => mailLimits.mayMailStranger(request, request.body.invite === undefined ? 'newcomer' : 'visitor'),
    }
    const formerBrowserToken = cookies.read(request, 'registration')
    const result = await register({ ...request.body, formerBrowserToken }, signInCookies.visitOf(request), counting)
    if (isRefused(result))
      return result.refused === 'too_many_requests'
        ? ceilings.answerExcess(reply, 'total_registrations', result.excess)
        : sendRefusal(reply, result)
    if ('outcome' in result) {
      if (formerBrowserToken !== undefined) cookies.clear(reply, 'registration')
      return sendSignInStep(result.isPrinted ? reply.status(201) : reply, { cookies, signInCookies }, result.outcome)
    }
    cookies.set(reply, 'registration', result.browserToken)
    return reply.status(202).send(acceptedBody)
  })
}
