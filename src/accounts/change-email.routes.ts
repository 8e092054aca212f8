import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { AccountChanges } from '../account-changes/account-changes.js'
import { WaitingEmail } from '../contract/mailed-links.js'
import { isRefused } from '../contract/outcome.js'
import { Accepted, NoContent, Nullable, TypedEmail } from '../contract/schemas.js'
import type { NeedsMail } from '../http/route.js'
import { guardRefusals, routeRefusals } from '../http/route.js'
import type { Server } from '../http/server.js'
import { minResponseTime, takeAtLeast } from '../lib/timing.js'
import type { Callers } from '../sessions/callers.js'
import type { Guards, Limits } from '../sessions/guards.js'
import type { CallerContext } from '../sessions/session-facts.js'
import type { SessionCaller } from '../sessions/sessions.js'
import type { MailLimits } from '../sign-in/guess-limits.js'
import { emailKey, readEmail } from '../users/names.js'
import type { EmailChanges } from './email-changes.js'

/** `withheld`: no mail goes to the new address. */
type NewAddress = { email: string; withheld: boolean }

type ChangeEmailDependencies = { accountChanges: AccountChanges; emailChanges: EmailChanges }

/** A signed-in user asks for another address. The link in the mail to the new address confirms it. */
export const createChangeEmail = ({ accountChanges, emailChanges }: ChangeEmailDependencies) => {
  /**
   * Mails the links. The answer does not show whether the address has an account or an invitation: that is checked when the address is
   * confirmed. The caller's own address, also with other capitals, gets a mail only while it is not proven.
   */
  const ask = async (context: CallerContext, { email: typedEmail, withheld }: NewAddress) => {
    const email = readEmail(typedEmail)
    if (isRefused(email)) return email
    const change = await accountChanges.byCaller(context, 'email_change_asked', async (sql, user) => {
      const isOwn = emailKey(user.email) === email.key
      if (isOwn && user.emailProven) return { changes: {} }
      const address = isOwn ? { ...email, email: user.email } : email
      const { sessionId } = context.caller
      await emailChanges.ask(sql, user, address, { client: context.client, withheld, sessionId })
      if (isOwn) return { changes: {} }
      return { changes: { email_change_asked: { mail: { newEmail: email.email } } } }
    })
    return isRefused(change) ? change : undefined
  }

  /** The address that waits for its confirmation. */
  const waitingFor = async ({ userId, sessionId }: SessionCaller) => {
    const waiting = await emailChanges.waitingOf(userId)
    if (!waiting) return null
    const { email, expiresAt, codeSessionId } = waiting
    return { email, expiresAt: expiresAt.toISOString(), codeUsable: codeSessionId === sessionId }
  }

  /** Cancels the change: the mailed link stops working, but the undo link in the other mail still works. */
  const cancel = async (context: CallerContext) => {
    const change = await accountChanges.byCaller(context, 'email_change_cancelled', async (sql, user) => ({
      changes: (await emailChanges.forget(sql, user.id)) ? { email_change_cancelled: {} } : {},
    }))
    return isRefused(change) ? change : undefined
  }

  return { ask, waitingFor, cancel }
}

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

type ChangeEmailRouteDependencies = {
  guards: Guards
  changeEmail: ReturnType<typeof createChangeEmail>
  callers: Callers
  limits: Limits
  needsMail: NeedsMail
  mailLimits: MailLimits
}

export const changeEmailRoutes = (server: Server, deps: ChangeEmailRouteDependencies) => {
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
