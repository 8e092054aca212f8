import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { WaitingEmail } from '../contract/mailed-links.js'
import { isRefused } from '../contract/outcome.js'
import { Accepted, NoContent, Nullable, TypedEmail } from '../contract/schemas.js'
import { route, routeRefusals, type Server } from '../http/route.js'
import { minResponseTime, takeAtLeast } from '../lib/timing.js'
import type { App } from '../service/open-http.js'
import type { CallerContext } from '../sessions/session-facts.js'
import { emailKey, readEmail } from '../users/names.js'

/**
 * A signed-in user asks for another address, and the link in the mail to it confirms it. The answer does not show whether the address has an
 * account or an invitation: that is checked when the address is confirmed. The caller's own address, also with other capitals, gets a mail
 * only while it is not proven. `withheld`: no mail goes to the new address.
 */
const askForEmail = async (
  { accountChanges, emailChanges }: App,
  context: CallerContext,
  { email: typedEmail, withheld }: { email: string; withheld: boolean },
) => {
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

export const changeEmailRoutes = (server: Server, app: App) => {
  const { guards, callers, limits, needsMail, mailLimits, accountChanges, emailChanges } = app
  const tag = 'account'

  const { sendRefusal } = routeRefusals('email_shape')
  /** Refuses a text that is no address before mails are counted, because no mail is sent to it. */
  const refuseMistyped = async (request: FastifyRequest, reply: FastifyReply) => {
    const email = readEmail((request.body as { email: string }).email)
    return isRefused(email) ? sendRefusal(reply, email) : undefined
  }

  route(server, 'POST /api/auth/email', {
    guard: [needsMail, ...guards.sensitive],
    tag,
    summary: 'Ask for a new email address; the account gets it when the link in the mail to it is confirmed',
    body: Type.Object({ email: TypedEmail }),
    refuses: ['bad_request', 'email_shape', 'mail_is_off'],
    answers: { 202: Accepted },
    preHandler: [refuseMistyped, limits.emailChanges],
    config: { countsIn: ['network_mails'] },
    handle: async ({ body, request }) => {
      const withheld = !(await mailLimits.mayMailStranger(request, 'user'))
      const asking = askForEmail(app, callers.contextOf(request), { ...body, withheld })
      const refused = await takeAtLeast(minResponseTime, asking)
      // The body is the same in every case, so it does not show whether the address has an account.
      return refused ?? { message: 'A mail is on its way to the new address' }
    },
  })

  route(server, 'GET /api/auth/email', {
    guard: guards.read,
    tag,
    summary: 'The new email address that waits for its confirmation',
    refuses: [],
    answers: { 200: Type.Object({ waiting: Nullable(WaitingEmail) }) },
    handle: async ({ request }) => {
      const { userId, sessionId } = callers.of(request)
      const waiting = await emailChanges.waitingOf(userId)
      if (!waiting) return { waiting: null }
      const { email, expiresAt, codeSessionId } = waiting
      return { waiting: { email, expiresAt: expiresAt.toISOString(), codeUsable: codeSessionId === sessionId } }
    },
  })

  // The undo link in the mail about the request still works.
  route(server, 'DELETE /api/auth/email', {
    guard: guards.sensitive,
    tag,
    summary: 'Cancel the change of the email address that waits; the mailed link does not work any more',
    refuses: [],
    answers: { 204: NoContent },
    handle: async ({ request }) => {
      const change = await accountChanges.byCaller(
        callers.contextOf(request),
        'email_change_cancelled',
        async (sql, user) => ({
          changes: (await emailChanges.forget(sql, user.id)) ? { email_change_cancelled: {} } : {},
        }),
      )
      return isRefused(change) ? change : undefined
    },
  })
}
