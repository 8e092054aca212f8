import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { EmailLink } from '../contract/mailed-links.js'
import { isRefused } from '../contract/outcome.js'
import { LinkToken, NoContent, TypedPassword } from '../contract/schemas.js'
import type { Cookies } from '../http/cookies.js'
import type { CountedRequests } from '../http/limits.js'
import { clientOf } from '../http/request-origin.js'
import { guardRefusals, routeRefusals } from '../http/route.js'
import type { Server } from '../http/server.js'

import type { Callers } from '../sessions/callers.js'
import type { Guards, Limits } from '../sessions/guards.js'
import { withHeaders } from '../sign-in/answers.js'
import type { PasswordGuesses } from '../sign-in/guess-limits.js'

import type { createConfirmEmail } from './confirm-email.js'

const checkRefusals = routeRefusals('bad_request', 'invalid_link', 'cross_site', 'too_many_requests', 'unavailable')
const confirmRefusals = routeRefusals(
  'bad_request',
  'invalid_link',
  'not_authenticated',
  'password_required',
  'wrong_current_password',
  'email_domain_not_allowed',
  'email_taken',
  'too_many_groups',
  'cross_site',
  'too_many_requests',
  'too_many_logins',
  'busy',
  'unavailable',
)
const codeRefusals = routeRefusals(
  ...guardRefusals,
  'bad_request',
  'invalid_link',
  'wrong_mailed_code',
  'mailed_code_void',
  'other_browser',
  'email_domain_not_allowed',
  'email_taken',
  'too_many_groups',
)

const tags = ['account']
const checkSchema = {
  tags,
  summary: 'Whether a link still works, the address that it confirms, and what has to be proven; changes nothing',
  body: Type.Object({ token: LinkToken }),
  response: { 200: EmailLink, ...checkRefusals.responses },
}
const confirmSchema = {
  tags,
  summary: 'Confirm a new email address; ends the other sessions and sets new tokens for this one',
  description:
    'Needs a session of the user who asked for the address. Without a session, the password is enough, unless the account has two-step sign-in or every account needs it; no session begins then.',
  body: Type.Object({
    token: LinkToken,
    password: Type.Optional(TypedPassword),
  }),
  response: {
    204: withHeaders(NoContent, { 'Set-Cookie': 'New access_token and refresh_token, with a session' }),
    ...confirmRefusals.responses,
  },
}

const codeSchema = {
  tags,
  summary:
    'Confirm a new email address by the code of the mail, in the session that asked for it; otherwise the same as by the link',
  body: Type.Object({ code: Type.String({ minLength: 1, maxLength: 32 }) }),
  response: {
    204: withHeaders(NoContent, { 'Set-Cookie': 'New access_token and refresh_token' }),
    ...codeRefusals.responses,
  },
}

type Dependencies = {
  guards: Guards
  confirmEmail: ReturnType<typeof createConfirmEmail>
  callers: Callers
  cookies: Cookies
  limits: Limits
  passwordGuesses: PasswordGuesses
  countedRequests: CountedRequests
}

export const confirmEmailRoutes = (server: Server, deps: Dependencies) => {
  const { guards, confirmEmail, callers, cookies, limits, passwordGuesses, countedRequests } = deps

  const checkOptions = { schema: checkSchema, onRequest: limits.byNetwork }
  server.post('/api/auth/email/check', checkOptions, async (request, reply) => {
    return checkRefusals.answer(reply, await confirmEmail.describe(request.body.token, callers.find(request)))
  })

  server.post('/api/auth/email/code', { schema: codeSchema, onRequest: guards.change }, async (request, reply) => {
    const confirmed = await confirmEmail.confirmByCode(callers.contextOf(request), request.body.code)
    if (isRefused(confirmed)) return codeRefusals.sendRefusal(reply, confirmed)
    if (confirmed.issued) cookies.renewSession(reply, confirmed.issued)
    return reply.status(204).send()
  })

  /** A guess of the password counts like a sign-in, also in the limit for guesses from many networks. */
  const countPassword = async (request: FastifyRequest, reply: FastifyReply) => {
    const { token, password } = request.body as { token: string; password?: string }
    if (password === undefined) return undefined
    const user = await confirmEmail.userOf(token)
    return user ? passwordGuesses.byUser(user, user.username, request, reply) : limits.login(request, reply)
  }

  const confirmOptions = {
    schema: confirmSchema,
    onRequest: limits.byNetwork,
    preHandler: countPassword,
    config: { countsIn: ['login', 'account'] as const },
    onSend: countedRequests.refundSuccess,
  }
  server.post('/api/auth/email/confirm', confirmOptions, async (request, reply) => {
    const { token, password } = request.body
    const confirmed = await confirmEmail.confirm({ token, password, caller: callers.find(request) }, clientOf(request))
    if (isRefused(confirmed)) {
      if (confirmed.refused !== 'wrong_current_password') countedRequests.refundDespiteRefusal(request)
      return confirmRefusals.sendRefusal(reply, confirmed)
    }
    if (confirmed.issued) cookies.renewSession(reply, confirmed.issued)
    return reply.status(204).send()
  })
}
