import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { WaitingEmail } from '../contract/mailed-links.js'
import { isRefused } from '../contract/outcome.js'
import { Accepted, NoContent, Nullable, TypedEmail } from '../contract/schemas.js'

import type { NeedsMail } from '../http/errors.js'
import { guardRefusals, routeRefusals } from '../http/route.js'
import type { Server } from '../http/server.js'

import { minResponseTime, takeAtLeast } from '../lib/timing.js'
import type { Callers } from '../sessions/callers.js'
import type { Guards, Limits } from '../sessions/guards.js'

import type { MailLimits } from '../sign-in/guess-limits.js'
import { readEmail } from '../users/names.js'
import type { createChangeEmail } from './change-email.js'

/** The body is the same in every case, so it does not show whether the address has an account. */
const acceptedBody = { message: 'A mail is on its way to the new address' }

const askRefusals = routeRefusals(
  ...guardRefusals,
  'bad_request',
  'email_shape',
  'fresh_sign_in_required',
  'mail_is_off',
)
const readRefusals = routeRefusals('not_authenticated', 'too_many_requests', 'unavailable')
const cancelRefusals = routeRefusals(...guardRefusals, 'fresh_sign_in_required')

const tags = ['account']
const askSchema = {
  tags,
  summary: 'Ask for a new email address; the account gets it when the link in the mail to it is confirmed',
  body: Type.Object({ email: TypedEmail }),
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

type Dependencies = {
  guards: Guards
  changeEmail: ReturnType<typeof createChangeEmail>
  callers: Callers
  limits: Limits
  needsMail: NeedsMail
  mailLimits: MailLimits
}

export const changeEmailRoutes = (server: Server, deps: Dependencies) => {
  const { guards, changeEmail, callers, limits, needsMail, mailLimits } = deps

  /** Refuses a text that is no address before mails are counted, because no mail is sent to it. */
  const refuseMistyped = async (request: FastifyRequest, reply: FastifyReply) => {
    const email = readEmail((request.body as { email: string }).email)
    return isRefused(email) ? askRefusals.sendRefusal(reply, email) : undefined
  }

  const askOptions = {
    schema: askSchema,
    onRequest: [needsMail, ...guards.sensitive],
    preHandler: [refuseMistyped, limits.emailChanges],
    config: { countsIn: ['network_mails'] as const },
  }
  server.post('/api/auth/email', askOptions, async (request, reply) => {
    const withheld = !(await mailLimits.mayMailStranger(request, 'user'))
    const change = changeEmail.ask(callers.contextOf(request), { ...request.body, withheld })
    const refused = await takeAtLeast(minResponseTime, change)
    return refused ? askRefusals.sendRefusal(reply, refused) : reply.status(202).send(acceptedBody)
  })

  const readOptions = { schema: readSchema, onRequest: guards.read }
  server.get('/api/auth/email', readOptions, async (request) => ({
    waiting: await changeEmail.waitingFor(callers.of(request)),
  }))

  const cancelOptions = { schema: cancelSchema, onRequest: guards.sensitive }
  server.delete('/api/auth/email', cancelOptions, async (request, reply) => {
    const refused = await changeEmail.cancel(callers.contextOf(request))
    return cancelRefusals.answer(reply, refused, 204)
  })
}
