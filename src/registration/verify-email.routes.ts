import { Type } from 'typebox'
import { publicApplication } from '../applications/applications.js'
import { LinkState } from '../contract/mailed-links.js'
import { isRefused, refuse } from '../contract/outcome.js'
import { Accepted, LinkToken, SecondFactorNeeded, SignedIn, TypedPassword } from '../contract/schemas.js'
import { type Client, clientOf } from '../http/request-origin.js'
import { route, type Server, withHeaders } from '../http/route.js'
import { minResponseTime, takeAtLeast } from '../lib/timing.js'
import type { App } from '../service/open-http.js'
import type { Visit } from '../sessions/session-facts.js'
import { sendSignInStep } from '../sign-in/answers.js'

type Proof = { token?: string | undefined; code?: string | undefined; password?: string | undefined }

const findByPassword = async ({ registrations, passwords }: App, token: string, password: string, client: Client) => {
  const pending = await registrations.findForPassword(token)
  const verified = await passwords.verify(password, isRefused(pending) ? undefined : pending.passwordHash, client)
  if (isRefused(verified)) return verified
  // The link was valid a moment ago, so the refusal means that no tries are left.
  if (isRefused(pending)) return refuse('password_tries_used_up')
  return verified.matches ? pending : refuse('wrong_chosen_password')
}

const findPending = async (
  app: App,
  { token, code, password }: Proof,
  browserToken: string | undefined,
  client: Client,
) => {
  const { registrations } = app
  if (code !== undefined) return registrations.findByCode(code, browserToken)
  if (token === undefined) return refuse('invalid_link')
  const pending = await registrations.findByBrowser(token, browserToken)
  const needsPassword = isRefused(pending) && pending.refused === 'password_required'
  return needsPassword && password !== undefined ? findByPassword(app, token, password, client) : pending
}

/** Completes a registration for the browser that began it, or with the password that was chosen. */
const verifyEmail = async (app: App, proof: Proof, browserToken: string | undefined, visit: Visit) => {
  const { completeRegistration, events, signIns } = app
  const pending = await findPending(app, proof, browserToken, visit.client)
  if (isRefused(pending)) return pending
  const completed = await completeRegistration(pending)
  if (isRefused(completed)) return completed
  const { user, usedInvitation } = completed
  if (usedInvitation) await events.record({ kind: 'invitation_used', userId: user.id }, visit.client)
  return (await signIns.byRegistration(user, visit)) ?? refuse('invalid_link')
}

const tag = 'registration'

export const verifyEmailRoutes = (server: Server, app: App) => {
  const { registrations, applications, limits, needsMail, mailLimits, cookies } = app
  const limit = limits.beforeSignIn.registration

  route(server, 'POST /api/auth/verify-email/check', {
    guard: [limit],
    tag,
    summary: 'The state of a mailed link or, without one, of the registration that this browser began',
    body: Type.Object({ token: Type.Optional(LinkToken) }),
    refuses: ['bad_request', 'cross_site'],
    answers: { 200: LinkState },
    handle: async ({ body: { token }, request }) => {
      const browserToken = cookies.read(request, 'registration')
      const { applicationId, ...state } =
        token === undefined
          ? { ...(await registrations.stateForBrowser(browserToken)), passwordRequired: false, newerMail: false }
          : await registrations.describeLink(token, browserToken)
      const application = applicationId === undefined ? undefined : await applications.find(applicationId)
      return { ...state, ...(application && { application: publicApplication(application) }) }
    },
  })

  route(server, 'POST /api/auth/verify-email/resend', {
    guard: [needsMail, limit],
    tag,
    summary: 'Send the mail of the registration that this browser began once more, with a new link',
    refuses: ['bad_request', 'mail_is_off', 'no_registration_waiting', 'cross_site', 'already_confirmed'],
    answers: { 202: Accepted },
    config: { countsIn: ['network_mails', 'total_mails', 'total_newcomer_mails'] },
    handle: async ({ request }) => {
      const browserToken = cookies.read(request, 'registration')
      const withheld = !(await mailLimits.mayMailStranger(request, 'newcomer'))
      const sending = registrations.sendAgainToBrowser(browserToken, clientOf(request), withheld)
      const refusal = await takeAtLeast(minResponseTime, sending)
      // The body is the same in every case, so it does not show whether the email has an account or has got too many mails.
      return refusal ?? { message: 'A mail is on its way' }
    },
  })

  confirmRoute(server, app)
}

const confirmRoute = (server: Server, app: App) => {
  const { limits, cookies, signInCookies } = app

  route(server, 'POST /api/auth/verify-email', {
    guard: [limits.beforeSignIn.registration],
    tag,
    summary:
      'Confirm the email: by the link in the browser that registered, by the link and the password, or by the code',
    description: 'Takes `token`, with `password` in another browser than the one that registered, or `code`.',
    body: Type.Object({
      token: Type.Optional(LinkToken),
      code: Type.Optional(Type.String({ minLength: 1, maxLength: 32 })),
      password: Type.Optional(TypedPassword),
    }),
    refuses: [
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
      'busy',
      'unavailable',
    ],
    answers: {
      200: SignedIn,
      202: withHeaders(SecondFactorNeeded, { 'Set-Cookie': 'challenge, if a second factor must be added first' }),
    },
    handle: async ({ body, request, reply }) => {
      if ((body.token === undefined) === (body.code === undefined))
        return refuse('bad_request', { message: 'Send token or code' })
      const browserToken = cookies.read(request, 'registration')
      const result = await verifyEmail(app, body, browserToken, signInCookies.visitOf(request, {}))
      if (isRefused(result)) return result
      cookies.clear(reply, 'registration')
      return sendSignInStep(reply, app, result)
    },
  })
}
