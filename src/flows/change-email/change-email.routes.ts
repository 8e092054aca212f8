import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { isRefused } from '../../contract/outcome.js'
import { Accepted, EmailLink, NoContent, Nullable, WaitingEmail } from '../../contract/schemas.js'
import { readEmail } from '../../domain/users/email.js'
import { atLeast, minResponseTime } from '../../http/at-least.js'
import type { Callers } from '../../http/caller.js'
import { clientOf } from '../../http/client.js'
import type { Cookies } from '../../http/cookies/cookies.js'
import type { Guards } from '../../http/guards.js'
import type { Limits } from '../../http/limits.js'
import { withHeaders } from '../../http/responses.js'
import { gateRefusals, routeRefusals } from '../../http/route-refusals.js'
import type { Server } from '../../http/server.js'
import type { createChangeEmail } from './change-email.js'

/** The same body in every case: it does not show whether the address has an account. */
const accepted = { message: 'A mail is on its way to the new address' }

const askRefusals = routeRefusals(...gateRefusals, 'bad_request', 'email_shape', 'fresh_sign_in_required')
const confirmRefusals = routeRefusals(
  'bad_request',
  'invalid_link',
  'not_authenticated',
  'password_required',
  'wrong_current_password',
  'email_domain_not_allowed',
  'email_taken',
  'cross_site',
  'too_many_requests',
  'too_many_logins',
  'busy',
  'unavailable',
)
const readRefusals = routeRefusals('not_authenticated', 'too_many_requests', 'unavailable')
const cancelRefusals = routeRefusals(...gateRefusals, 'fresh_sign_in_required')
const checkRefusals = routeRefusals('bad_request', 'invalid_link', 'cross_site', 'too_many_requests', 'unavailable')

const tags = ['account']
const askSchema = {
  tags,
  summary: "Ask for a new email address; it is the caller's as soon as the link in the mail to it is confirmed",
  body: Type.Object({ email: Type.String({ minLength: 3, maxLength: 254 }) }),
  response: { 202: Accepted, ...askRefusals.responses },
}
const readSchema = {
  tags,
  summary: 'The new email address that waits for its confirmation',
  response: { 200: Type.Object({ waiting: Nullable(WaitingEmail) }), ...readRefusals.responses },
}
const cancelSchema = {
  tags,
  summary: 'Cancel the change of the email address that waits; the mailed link does not work any more',
  response: { 204: NoContent, ...cancelRefusals.responses },
}
const token = Type.String({ minLength: 1, maxLength: 128 })
const checkSchema = {
  tags,
  summary: 'Whether a link still works, the address that it confirms, and what has to be proven; changes nothing',
  body: Type.Object({ token }),
  response: { 200: EmailLink, ...checkRefusals.responses },
}
const confirmSchema = {
  tags,
  summary: 'Confirm a new email address; ends the other sessions and sets new tokens for this one',
  description:
    'Needs a session of the user whose address it is, or the password, unless the account has two-step sign-in. Without a session none begins.',
  body: Type.Object({
    token,
    password: Type.Optional(Type.String({ minLength: 1, maxLength: 1024 })),
  }),
  response: {
    204: withHeaders(NoContent, { 'Set-Cookie': 'New access_token and refresh_token, with a session' }),
    ...confirmRefusals.responses,
  },
}

type Dependencies = {
  guards: Guards
  changeEmail: ReturnType<typeof createChangeEmail>
  callers: Callers
  cookies: Cookies
  limits: Limits
}

export const changeEmailRoutes = (server: Server, deps: Dependencies) => {
  const { guards, changeEmail, callers, cookies, limits } = deps

  /** No mail is sent to an address that cannot be one, so it is not counted as one. */
  const refuseMistyped = async (request: FastifyRequest, reply: FastifyReply) => {
    const email = readEmail((request.body as { email: string }).email)
    return isRefused(email) ? askRefusals.sendRefusal(reply, email) : undefined
  }

  const asking = {
    schema: askSchema,
    onRequest: guards.sensitive,
    preHandler: [refuseMistyped, limits.emailChanges],
    config: { countsIn: ['network_mails'] as const },
  }
  server.post('/api/auth/email', asking, async (request, reply) => {
    const withheld = !(await limits.mayMailStranger(request))
    const asked = changeEmail.ask(callers.requestOf(request), { ...request.body, withheld })
    const refused = await atLeast(minResponseTime, asked)
    return refused ? askRefusals.sendRefusal(reply, refused) : reply.status(202).send(accepted)
  })

  const reading = { schema: readSchema, onRequest: guards.read }
  server.get('/api/auth/email', reading, async (request) => ({
    waiting: await changeEmail.waitingFor(callers.of(request)),
  }))

  const cancelling = {
    schema: cancelSchema,
    onRequest: guards.sensitive,
  }
  server.delete('/api/auth/email', cancelling, async (request, reply) => {
    const refused = await changeEmail.cancel(callers.requestOf(request))
    return cancelRefusals.answer(reply, refused, 204)
  })

  const checking = { schema: checkSchema, onRequest: limits.byNetwork }
  server.post('/api/auth/email/check', checking, async (request, reply) => {
    return checkRefusals.answer(reply, await changeEmail.look(request.body.token, callers.peek(request)))
  })

  /** Guesses of a password count as sign-ins do, also those from many networks. */
  const countPassword = async (request: FastifyRequest, reply: FastifyReply) => {
    const { token, password } = request.body as { token: string; password?: string }
    if (password === undefined) return undefined
    const user = await changeEmail.userOf(token)
    return user ? limits.passwordOf(user, user.username, request, reply) : limits.login(request, reply)
  }

  const confirming = {
    schema: confirmSchema,
    onRequest: limits.byNetwork,
    preHandler: countPassword,
    config: { countsIn: ['login', 'account'] as const },
    onSend: limits.refundSuccess,
  }
  server.post('/api/auth/email/confirm', confirming, async (request, reply) => {
    const { token, password } = request.body
    const confirmed = await changeEmail.confirm({ token, password, caller: callers.peek(request) }, clientOf(request))
    if (isRefused(confirmed)) {
      if (confirmed.refused !== 'wrong_current_password') limits.countAsSuccess(request)
      return confirmRefusals.sendRefusal(reply, confirmed)
    }
    if (confirmed.issued) cookies.renewSession(reply, confirmed.issued)
    return reply.status(204).send()
  })
}
