import { isRefused, refuse } from '../contract/outcome.js'
import { Accepted } from '../contract/schemas.js'
import type { NeedsMail } from '../http/errors.js'
import { clientOf } from '../http/request-origin.js'
import { routeRefusals } from '../http/route.js'
import type { Server } from '../http/server.js'

import type { Limits } from '../sessions/guards.js'
import type { SignInCookies } from '../sessions/session-cookies.js'

import { clearsChallenge, needsChallenge } from './challenge-document.js'
import type { Enrolments } from './enrolments.js'
import type { MailLimits } from './mail-limits.js'
import { withCookies } from './responses.js'

const refusals = routeRefusals(
  'challenge_over',
  'current_password_required',
  'link_required',
  'mail_is_off',
  'enrolment_open',
  'not_enrolling',
  'cross_site',
  'too_many_requests',
  'unavailable',
)

const schema = {
  tags: ['sign in'],
  summary: 'Mail the code that a sign-in needs before its user can add a first second factor',
  ...needsChallenge,
  response: { 202: Accepted, ...withCookies(refusals.responses, clearsChallenge) },
}

type Dependencies = {
  enrolments: Enrolments
  signInCookies: SignInCookies
  limits: Limits
  needsMail: NeedsMail
  mailLimits: MailLimits
}

export const enrolmentCodeRoutes = (server: Server, deps: Dependencies) => {
  const { enrolments, signInCookies, limits, needsMail, mailLimits } = deps
  const mailOptions = {
    schema,
    onRequest: [needsMail, limits.byNetwork],
    config: { countsIn: ['mailed_codes'] as const },
  }
  server.post('/api/auth/second-factor/mail', mailOptions, async (request, reply) => {
    const token = signInCookies.challengeOf(request)
    const enrolment = token === undefined ? refuse('challenge_over') : await enrolments.findToMail(token)
    if (isRefused(enrolment))
      return refusals.sendRefusal(signInCookies.clearChallengeIfOver(reply, enrolment), enrolment)
    const limited = await mailLimits.countMailedCode(enrolment.user.id, request, reply)
    if (limited) return reply
    await enrolments.mailCode(enrolment, clientOf(request))
    return reply.status(202).send({ message: 'A mail is on its way' })
  })
}
