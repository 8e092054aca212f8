import { Type } from 'typebox'
import { publicApplication } from '../applications/applications.js'
import { ResetLink } from '../contract/mailed-links.js'
import { isRefused, refuse } from '../contract/outcome.js'
import {
  Accepted,
  LinkToken,
  NoContent,
  SecondFactorNeeded,
  SendingApplication,
  SignedIn,
  TypedLogin,
  TypedPassword,
} from '../contract/schemas.js'
import { type Client, clientOf } from '../http/request-origin.js'
import { route, withHeaders } from '../http/route.js'
import type { Server } from '../http/server.js'
import { minResponseTime, takeAtLeast } from '../lib/timing.js'
import { undefinedIfUnavailable } from '../platform/database/database.js'
import type { App } from '../service/open-http.js'
import { sendSignInStep } from './answers.js'
import { rememberBrowserOfOwner, resetLimitsOfOwner, visitOfOwner } from './recovered-accounts.js'

type ResetRequest = { email: string; application?: string | undefined }

/**
 * Queues the mail if the email or the username has an account, or the email has a registration that is not confirmed yet. (A username
 * belongs to a user only once there is an account.) The answer must not show which of these is true. `withheld`: no mail is sent.
 * `application`: the id of the application that has sent the user here.
 */
const requestMail = async (
  { users, registrations, resetLinks, events }: App,
  { email, application }: ResetRequest,
  client: Client,
  withheld: boolean,
) => {
  const user = await users.findByLogin(email)
  if (!user) return registrations.sendAgainToEmail(email, client, withheld)
  if (!(await resetLinks.send(user.id, client, { withheld, applicationId: application }))) return
  await events.record({ kind: 'reset_requested', userId: user.id }, client)
}

/** Whether a link still works, for the page before it shows its form. Changes nothing. */
const describeLink = async ({ oneTimeTokens, users }: App, token: string) => {
  const resetLink = await oneTimeTokens.findPasswordToken(token)
  const user = resetLink && (await users.findEnabled(resetLink.userId))
  return user ? { user, applicationId: resetLink.applicationId } : refuse('invalid_link')
}

const choosePassword = async (app: App, token: string, password: string, client: Client) => {
  const { passwords, oneTimeTokens, userChanges, accountChanges } = app
  const resetLink = await describeLink(app, token)
  if (isRefused(resetLink)) return resetLink
  const { user } = resetLink
  const rejected = await passwords.refusalFor(password, user, client)
  if (rejected) return rejected
  const passwordHash = await passwords.hash(password, client)
  if (isRefused(passwordHash)) return passwordHash

  const reset = await accountChanges.byLink({ userId: user.id, client }, 'password_reset', async (sql, owner) => {
    const taken = await oneTimeTokens.takePasswordToken(sql, token)
    if (!taken) return refuse('invalid_link')
    sql.unawaited(userChanges.setPassword(sql, owner.id, passwordHash))
    // An operator has handed a printed link to the user: it proves who they are to the operator, and no address.
    if (taken.isPrinted) sql.unawaited(userChanges.openEnrolment(sql, owner.id))
    else sql.unawaited(userChanges.proveEmail(sql, owner.id))
    return { changes: { password_reset: {} } }
  })
  return isRefused(reset) ? refuse('invalid_link') : { user: reset.user, passwordHash }
}

/** The body is the same in every case, so it does not show whether the email has an account. */
const acceptedBody = { message: 'If this address has an account, a mail is on its way' }

export const resetPasswordRoutes = (server: Server, app: App) => {
  const { limits, mailLimits, countedRequests, applications, signIns } = app

  for (const path of ['/reset-password', '/api/auth/reset-password'] as const) {
    route(server, `POST ${path}`, {
      guard: [app.needsMail, limits.sensitive],
      tag: 'reset password',
      summary: 'Request a password reset mail',
      description: 'Takes the email or the username of the account. The mail goes to the address of the account.',
      body: Type.Object({ email: TypedLogin, application: Type.Optional(SendingApplication) }),
      refuses: ['bad_request', 'cross_site', 'mail_is_off'],
      answers: { 202: Accepted },
      config: { countsIn: ['network_mails', 'total_mails'] },
      onSend: countedRequests.refundFailure,
      handle: async ({ body, request }) => {
        const withheld = !(await mailLimits.mayMailStranger(request, 'visitor'))
        await takeAtLeast(minResponseTime, requestMail(app, body, clientOf(request), withheld))
        return acceptedBody
      },
    })
  }

  route(server, 'POST /api/auth/reset-password/check', {
    guard: [limits.byNetwork],
    tag: 'reset password',
    summary: 'Whether a link still works, and the username that it is for; changes nothing',
    body: Type.Object({ token: LinkToken }),
    refuses: ['bad_request', 'invalid_link', 'cross_site'],
    answers: { 200: ResetLink },
    handle: async ({ body }) => {
      const resetLink = await describeLink(app, body.token)
      if (isRefused(resetLink)) return resetLink
      const { user, applicationId } = resetLink
      const application = applicationId === undefined ? undefined : await applications.find(applicationId)
      return { username: user.username, ...(application && { application: publicApplication(application) }) }
    },
  })

  route(server, 'POST /api/auth/reset-password/confirm', {
    guard: [limits.beforeSignIn.reset],
    tag: 'reset password',
    summary: 'Choose a new password with the token from the mail; ends every session of the user',
    description:
      'With `signIn` the answer is that of a sign-in. Without it, or if the account has changed meanwhile, it is 204: nobody is signed in.',
    body: Type.Object({
      token: LinkToken,
      password: TypedPassword,
      signIn: Type.Optional(Type.Boolean()),
    }),
    refuses: ['bad_request', 'invalid_link', 'cross_site', 'password_rejected', 'busy', 'unavailable'],
    answers: {
      200: withHeaders(SignedIn, { 'Set-Cookie': 'access_token, refresh_token and known_device' }),
      202: withHeaders(SecondFactorNeeded, { 'Set-Cookie': 'challenge and known_device' }),
      204: withHeaders(NoContent, { 'Set-Cookie': 'known_device' }),
    },
    onSend: countedRequests.refundSuccess,
    handle: async ({ body: { token, password, signIn = false }, request, reply }) => {
      const result = await choosePassword(app, token, password, clientOf(request))
      if (isRefused(result)) return result
      const { user, passwordHash } = result
      await resetLimitsOfOwner(app, user, request)
      const visit = visitOfOwner(app, user, request)
      // The password is changed and the link is used up. If the store cannot begin a session now, the owner signs in.
      const outcome = signIn
        ? await signIns.byReset(user, passwordHash, visit).catch(undefinedIfUnavailable)
        : undefined
      // A new session already makes its browser known.
      if (!outcome || !('issued' in outcome)) rememberBrowserOfOwner(app, user, request, reply)
      return outcome ? sendSignInStep(reply, app, outcome) : reply.status(204).send()
    },
  })
}
