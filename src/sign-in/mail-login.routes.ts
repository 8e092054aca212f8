import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import { MailLoginLink, MailLoginNext } from '../contract/mailed-links.js'
import { isRefused, refuse } from '../contract/outcome.js'
import { Accepted, LinkToken, SignedIn } from '../contract/schemas.js'
import type { Cookies } from '../http/cookies.js'
import type { NeedsMail } from '../http/errors.js'
import type { CountedRequests } from '../http/limits.js'
import { clientOf } from '../http/request-origin.js'
import { routeRefusals } from '../http/route.js'
import type { Server } from '../http/server.js'

import { minResponseTime, takeAtLeast } from '../lib/timing.js'
import type { Limits } from '../sessions/guards.js'
import type { SignInCookies } from '../sessions/session-cookies.js'

import { readEmail } from '../users/names.js'
import type { Ceilings } from './ceilings.js'
import type { createMailLogin } from './mail-login.js'
import type { createMailRegistration } from './mail-registration.js'
import type { MailSignInLimits } from './mail-sign-in-limits.js'
import type { MailSignIns } from './mail-sign-ins.js'
import { sendSignInStep, withHeaders } from './responses.js'

/** The body is the same in every case, so it does not show whether the address has an account, may have one, or has got too many mails. */
const acceptedBody = { message: 'Check your mail to sign in' }

const askRefusals = routeRefusals(
  'bad_request',
  'email_shape',
  'cross_site',
  'mail_is_off',
  'too_many_requests',
  'unavailable',
)
const confirmRefusals = routeRefusals(
  'bad_request',
  'invalid_link',
  'wrong_mailed_code',
  'mailed_code_void',
  'other_browser',
  'cross_site',
  'too_many_requests',
  'unavailable',
)
const checkRefusals = routeRefusals('bad_request', 'cross_site', 'too_many_requests', 'unavailable')

const tags = ['sign in']
const boundCookie = 'attempt_mail, which ties the mail to this browser'
const schemas = {
  ask: {
    tags,
    summary: 'Mail a code and a link to sign in, for this browser only',
    body: Type.Object({ email: Type.String({ maxLength: 1024 }) }),
    response: { 202: withHeaders(Accepted, { 'Set-Cookie': boundCookie }), ...askRefusals.responses },
  },
  confirm: {
    tags,
    summary: 'Sign in with the code or the link of the mail, in the browser that asked for it',
    description:
      'Takes `code` or `token`. A link that another browser asked for is not used up. `next: "registration"`: the address has no account; POST /api/auth/mail-login/registration creates it.',
    body: Type.Object({
      code: Type.Optional(Type.String({ minLength: 1, maxLength: 32, description: 'Spaces and hyphens are ignored' })),
      token: Type.Optional(LinkToken),
    }),
    response: {
      200: withHeaders(SignedIn, { 'Set-Cookie': 'access_token and refresh_token; clears attempt_mail' }),
      202: withHeaders(MailLoginNext, { 'Set-Cookie': 'challenge, for POST /api/auth/second-factor, or attempt_mail' }),
      ...confirmRefusals.responses,
    },
  },
  check: {
    tags,
    summary: 'Whether the link of the mail signs in here; changes nothing',
    body: Type.Object({ token: LinkToken }),
    response: { 200: MailLoginLink, ...checkRefusals.responses },
  },
}

type Dependencies = {
  mailLogin: ReturnType<typeof createMailLogin>
  mailRegistration: ReturnType<typeof createMailRegistration>
  mailSignIns: Pick<MailSignIns, 'begin' | 'findByToken'>
  mailSignInLimits: MailSignInLimits
  ceilings: Pick<Ceilings, 'answerExcess'>
  limits: Limits
  needsMail: NeedsMail
  countedRequests: CountedRequests
  cookies: Cookies
  signInCookies: SignInCookies
}

const path = '/api/auth/mail-login'

export const mailLoginRoutes = (server: Server, deps: Dependencies) => {
  const { mailLogin, mailRegistration, mailSignIns, mailSignInLimits, ceilings, limits, needsMail, countedRequests } =
    deps
  const { cookies, signInCookies } = deps
  const askOptions = {
    schema: schemas.ask,
    onRequest: [needsMail, limits.byNetwork],
    config: { countsIn: ['mail_sign_ins', 'network_mail_sign_ins', 'total_mails', 'total_mail_sign_ins'] as const },
  }
  server.post(path, askOptions, async (request, reply) => {
    const email = readEmail(request.body.email)
    if (isRefused(email)) return askRefusals.sendRefusal(reply, email)
    const beginSignIn = async () => {
      const counted = await mailSignInLimits.count(email.email, request)
      if ('excess' in counted) return counted
      const formerBrowserToken = cookies.read(request, 'attempt_mail')
      const newRequest = { email, formerBrowserToken, withheld: !counted.mayMail }
      return { browserToken: await mailSignIns.begin(newRequest, clientOf(request)) }
    }
    const begun = await takeAtLeast(minResponseTime, beginSignIn())
    if ('excess' in begun) return ceilings.answerExcess(reply, 'total_mail_sign_ins', begun.excess)
    cookies.set(reply, 'attempt_mail', begun.browserToken)
    return reply.status(202).send(acceptedBody)
  })

  const sendRegistration = async (reply: FastifyReply, browserToken: string) => {
    const description = await mailRegistration.describe(browserToken)
    if (!description) return confirmRefusals.sendRefusal(reply, refuse('mailed_code_void'))
    cookies.set(reply, 'attempt_mail', browserToken)
    return reply.status(202).send({ next: 'registration', methods: [], ...description })
  }

  const confirmOptions = {
    schema: schemas.confirm,
    onRequest: limits.beforeSignIn.mail,
    onSend: countedRequests.refundSuccess,
  }
  server.post(`${path}/confirm`, confirmOptions, async (request, reply) => {
    const { code, token } = request.body
    const proof = code === undefined ? token !== undefined && { token } : token === undefined && { code }
    if (!proof) return confirmRefusals.sendRefusal(reply, refuse('bad_request', { message: 'Send token or code' }))
    const outcome = await mailLogin(proof, cookies.read(request, 'attempt_mail'), signInCookies.visitOf(request))
    if (isRefused(outcome)) return confirmRefusals.sendRefusal(reply, outcome)
    if ('registrationToken' in outcome) return sendRegistration(reply, outcome.registrationToken)
    cookies.clear(reply, 'attempt_mail')
    return sendSignInStep(reply, { cookies, signInCookies }, outcome)
  })

  server.post(`${path}/check`, { schema: schemas.check, onRequest: limits.byNetwork }, async (request) => {
    const mailSignIn = await mailSignIns.findByToken(request.body.token, cookies.read(request, 'attempt_mail'))
    if (!isRefused(mailSignIn)) return { state: 'usable' as const }
    return { state: mailSignIn.refused === 'other_browser' ? ('other_browser' as const) : ('over' as const) }
  })
}
