import { Type } from 'typebox'
import { type Applications, publicApplication } from '../applications/applications.js'
import { LinkState } from '../contract/mailed-links.js'
import { isRefused, refuse } from '../contract/outcome.js'
import { Accepted, LinkToken, SecondFactorNeeded, SignedIn, TypedPassword } from '../contract/schemas.js'
import type { Cookies } from '../http/cookies.js'
import { type Client, clientOf } from '../http/request-origin.js'
import type { NeedsMail } from '../http/route.js'
import { routeRefusals, withHeaders } from '../http/route.js'
import type { Server } from '../http/server.js'
import { minResponseTime, takeAtLeast } from '../lib/timing.js'
import type { Events } from '../messages/events.js'
import type { Passwords } from '../passwords/passwords.js'
import type { Limits } from '../sessions/guards.js'
import type { SignInCookies } from '../sessions/session-cookies.js'
import type { Visit } from '../sessions/session-facts.js'
import { sendSignInStep } from '../sign-in/answers.js'
import type { MailLimits } from '../sign-in/guess-limits.js'
import type { SignIns } from '../sign-in/sign-ins.js'

import type { CompleteRegistration } from './complete-registration.js'
import type { Registrations } from './registrations.js'

type Proof = { token?: string | undefined; code?: string | undefined; password?: string | undefined }

/** Completes a registration for the browser that began it, or with the password that was chosen. */
export const createVerifyEmail = (deps: {
  registrations: Registrations
  completeRegistration: CompleteRegistration
  passwords: Passwords
  signIns: SignIns
  events: Events
}) => {
  const { registrations, completeRegistration, passwords, signIns, events } = deps

  const byPassword = async (token: string, password: string, client: Client) => {
    const pending = await registrations.findForPassword(token)
    const verified = await passwords.verify(password, isRefused(pending) ? undefined : pending.passwordHash, client)
    if (isRefused(verified)) return verified
    // The link was valid a moment ago, so the refusal means that no tries are left.
    if (isRefused(pending)) return refuse('password_tries_used_up')
    return verified.matches ? pending : refuse('wrong_chosen_password')
  }

  const prove = async ({ token, code, password }: Proof, browserToken: string | undefined, client: Client) => {
    if (code !== undefined) return registrations.findByCode(code, browserToken)
    if (token === undefined) return refuse('invalid_link')
    const pending = await registrations.findByBrowser(token, browserToken)
    const needsPassword = isRefused(pending) && pending.refused === 'password_required'
    return needsPassword && password !== undefined ? byPassword(token, password, client) : pending
  }

  return async (proof: Proof, browserToken: string | undefined, visit: Visit) => {
    const pending = await prove(proof, browserToken, visit.client)
    if (isRefused(pending)) return pending
    const completed = await completeRegistration(pending)
    if (isRefused(completed)) return completed
    const { user, usedInvitation } = completed
    if (usedInvitation) await events.record({ kind: 'invitation_used', userId: user.id }, visit.client)
    return (await signIns.byRegistration(user, visit)) ?? refuse('invalid_link')
  }
}

/** The body is the same in every case, so it does not show whether the email has an account or has got too many mails. */
const sentBody = { message: 'A mail is on its way' }

const verifyRefusals = routeRefusals(
  'bad_request',
  'invalid_link',
  'link_replaced',
  'invalid_code',
  'tries_used_up',
  'password_required',
  'wrong_chosen_password',
  'password_tries_used_up',
  'registration_closed',
  'invitation_required',
  'email_domain_not_allowed',
  'cross_site',
  'already_confirmed',
  'already_registered',
  'username_taken_since',
  'too_many_requests',
  'busy',
  'unavailable',
)
const checkRefusals = routeRefusals('bad_request', 'cross_site', 'too_many_requests', 'unavailable')
const resendRefusals = routeRefusals(
  'bad_request',
  'mail_is_off',
  'no_registration_waiting',
  'cross_site',
  'already_confirmed',
  'too_many_requests',
  'unavailable',
)

const schema = {
  tags: ['registration'],
  summary:
    'Confirm the email: by the link in the browser that registered, by the link and the password, or by the code',
  description: 'Takes `token`, with `password` in another browser than the one that registered, or `code`.',
  body: Type.Object({
    token: Type.Optional(LinkToken),
    code: Type.Optional(Type.String({ minLength: 1, maxLength: 32 })),
    password: Type.Optional(TypedPassword),
  }),
  response: {
    200: SignedIn,
    202: withHeaders(SecondFactorNeeded, { 'Set-Cookie': 'challenge, if a second factor must be added first' }),
    ...verifyRefusals.responses,
  },
}

const checkSchema = {
  tags: ['registration'],
  summary: 'The state of a mailed link or, without one, of the registration that this browser began',
  body: Type.Object({ token: Type.Optional(LinkToken) }),
  response: { 200: LinkState, ...checkRefusals.responses },
}
const resendSchema = {
  tags: ['registration'],
  summary: 'Send the mail of the registration that this browser began once more, with a new link',
  response: { 202: Accepted, ...resendRefusals.responses },
}

type Dependencies = {
  verifyEmail: ReturnType<typeof createVerifyEmail>
  registrations: Registrations
  applications: Applications
  limits: Limits
  needsMail: NeedsMail
  mailLimits: MailLimits
  cookies: Cookies
  signInCookies: SignInCookies
}

export const verifyEmailRoutes = (server: Server, deps: Dependencies) => {
  const { verifyEmail, registrations, applications, limits, needsMail, mailLimits, cookies, signInCookies } = deps
  const onRequest = limits.beforeSignIn.registration
  server.post('/api/auth/verify-email/check', { schema: checkSchema, onRequest }, async (request) => {
    const browserToken = cookies.read(request, 'registration')
    const { token } = request.body
    const { applicationId, ...state } =
      token === undefined
        ? { ...(await registrations.stateForBrowser(browserToken)), passwordRequired: false, newerMail: false }
        : await registrations.describeLink(token, browserToken)
    const application = applicationId === undefined ? undefined : await applications.find(applicationId)
    return { ...state, ...(application && { application: publicApplication(application) }) }
  })

  const resendOptions = {
    schema: resendSchema,
    onRequest: [needsMail, onRequest],
    config: { countsIn: ['network_mails', 'total_mails', 'total_newcomer_mails'] as const },
  }
  server.post('/api/auth/verify-email/resend', resendOptions, async (request, reply) => {
    const browserToken = cookies.read(request, 'registration')
    const withheld = !(await mailLimits.mayMailStranger(request, 'newcomer'))
    const result = await takeAtLeast(
      minResponseTime,
      registrations.sendAgainToBrowser(browserToken, clientOf(request), withheld),
    )
    return isRefused(result) ? resendRefusals.sendRefusal(reply, result) : reply.status(202).send(sentBody)
  })

  server.post('/api/auth/verify-email', { schema, onRequest }, async (request, reply) => {
    const { token, code } = request.body
    if ((token === undefined) === (code === undefined))
      return verifyRefusals.sendRefusal(reply, refuse('bad_request', { message: 'Send token or code' }))
    const browserToken = cookies.read(request, 'registration')
    const result = await verifyEmail(request.body, browserToken, signInCookies.visitOf(request))
    if (isRefused(result)) return verifyRefusals.sendRefusal(reply, result)
    cookies.clear(reply, 'registration')
    return sendSignInStep(reply, { cookies, signInCookies }, result)
  })
}
