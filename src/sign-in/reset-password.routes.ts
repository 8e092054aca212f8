import { Type } from 'typebox'
import type { AccountChanges } from '../account-changes/account-changes.js'
import { type Applications, publicApplication } from '../applications/applications.js'
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
import type { Cookies } from '../http/cookies.js'
import type { CountedRequests } from '../http/limits.js'
import { type Client, clientOf } from '../http/request-origin.js'
import type { NeedsMail } from '../http/route.js'
import { routeRefusals, withHeaders } from '../http/route.js'
import type { Server } from '../http/server.js'
import { minResponseTime, takeAtLeast } from '../lib/timing.js'
import type { Events } from '../messages/events.js'
import type { OneTimeTokens } from '../messages/one-time-tokens.js'
import type { Passwords } from '../passwords/passwords.js'
import { undefinedIfUnavailable } from '../platform/database/database.js'
import type { Registrations } from '../registration/registrations.js'
import type { Limits } from '../sessions/guards.js'
import type { SignInCookies } from '../sessions/session-cookies.js'
import type { UserChanges, Users } from '../users/users.js'
import { type RecoveredAccounts, sendSignInStep } from './answers.js'
import type { MailLimits } from './guess-limits.js'
import type { ResetLinks } from './reset-links.js'
import type { SignIns } from './sign-ins.js'

type ResetPasswordDependencies = {
  accountChanges: AccountChanges
  users: Users
  userChanges: UserChanges
  passwords: Passwords
  oneTimeTokens: OneTimeTokens
  resetLinks: ResetLinks
  registrations: Registrations
  events: Events
}

type ResetRequest = { email: string; application?: string | undefined }

export const createResetPassword = (deps: ResetPasswordDependencies) => {
  const { accountChanges, users, userChanges, passwords, oneTimeTokens, resetLinks, registrations, events } = deps

  /**
   * Queues the mail if the email or the username has an account, or the email has a registration that is not confirmed yet. (A username
   * belongs to a user only once there is an account.) The answer must not show which of these is true. `withheld`: no mail is sent.
   * `application`: the id of the application that has sent the user here.
   */
  const requestMail = async ({ email, application }: ResetRequest, client: Client, withheld: boolean) => {
    const user = await users.findByLogin(email)
    if (!user) return registrations.sendAgainToEmail(email, client, withheld)
    if (!(await resetLinks.send(user.id, client, { withheld, applicationId: application }))) return
    await events.record({ kind: 'reset_requested', userId: user.id }, client)
  }

  /** Whether a link still works, for the page before it shows its form. Changes nothing. */
  const describe = async (token: string) => {
    const resetLink = await oneTimeTokens.findPasswordToken(token)
    const user = resetLink && (await users.findEnabled(resetLink.userId))
    return user ? { user, applicationId: resetLink.applicationId } : refuse('invalid_link')
  }

  const confirm = async (token: string, password: string, client: Client) => {
    const resetLink = await describe(token)
    if (isRefused(resetLink)) return resetLink
    const { user } = resetLink
    const rejected = await passwords.refusalFor(password, user, client)
    if (rejected) return rejected
    const passwordHash = await passwords.hash(password, client)
    if (isRefused(passwordHash)) return passwordHash

    const reset = await accountChanges.byLink({ userId: user.id, client }, 'password_reset', async (sql, owner) => {
      const taken = await oneTimeTokens.takePasswordToken(sql, token)
      if (!taken) return refuse('invalid_link')
      await userChanges.setPassword(sql, owner.id, passwordHash)
      // An operator has handed a printed link to the user: it proves who they are to the operator, and no address.
      if (taken.isPrinted) await userChanges.openEnrolment(sql, owner.id)
      else await userChanges.proveEmail(sql, owner.id)
      return { changes: { password_reset: {} } }
    })
    return isRefused(reset) ? refuse('invalid_link') : { user: reset.user, passwordHash }
  }

  return { requestMail, describe, confirm }
}

/** The body is the same in every case, so it does not show whether the email has an account. */
const acceptedBody = { message: 'If this address has an account, a mail is on its way' }

const requestRefusals = routeRefusals('bad_request', 'cross_site', 'mail_is_off', 'too_many_attempts', 'unavailable')
const checkRefusals = routeRefusals('bad_request', 'invalid_link', 'cross_site', 'too_many_requests', 'unavailable')
const confirmRefusals = routeRefusals(
  'bad_request',
  'invalid_link',
  'cross_site',
  'password_rejected',
  'too_many_requests',
  'busy',
  'unavailable',
)

const requestSchema = {
  tags: ['reset password'],
  summary: 'Request a password reset mail',
  description: 'Takes the email or the username of the account. The mail goes to the address of the account.',
  body: Type.Object({ email: TypedLogin, application: Type.Optional(SendingApplication) }),
  response: { 202: Accepted, ...requestRefusals.responses },
}
const checkSchema = {
  tags: ['reset password'],
  summary: 'Whether a link still works, and the username that it is for; changes nothing',
  body: Type.Object({ token: LinkToken }),
  response: { 200: ResetLink, ...checkRefusals.responses },
}
const confirmSchema = {
  tags: ['reset password'],
  summary: 'Choose a new password with the token from the mail; ends every session of the user',
  description:
    'With `signIn` the answer is that of a sign-in. Without it, or if the account has changed meanwhile, it is 204: nobody is signed in.',
  body: Type.Object({
    token: LinkToken,
    password: TypedPassword,
    signIn: Type.Optional(Type.Boolean()),
  }),
  response: {
    200: withHeaders(SignedIn, { 'Set-Cookie': 'access_token, refresh_token and known_device' }),
    202: withHeaders(SecondFactorNeeded, { 'Set-Cookie': 'challenge and known_device' }),
    204: withHeaders(NoContent, { 'Set-Cookie': 'known_device' }),
    ...confirmRefusals.responses,
  },
}

type ResetPasswordRouteDependencies = {
  resetPassword: ReturnType<typeof createResetPassword>
  recoveredAccounts: RecoveredAccounts
  limits: Limits
  needsMail: NeedsMail
  mailLimits: MailLimits
  countedRequests: CountedRequests
  applications: Applications
  signIns: SignIns
  cookies: Cookies
  signInCookies: SignInCookies
}

export const resetPasswordRoutes = (server: Server, deps: ResetPasswordRouteDependencies) => {
  const { resetPassword, recoveredAccounts, limits, needsMail, mailLimits, countedRequests, applications } = deps
  const requestOptions = {
    schema: requestSchema,
    onRequest: [needsMail, limits.sensitive],
    onSend: countedRequests.refundFailure,
    config: { countsIn: ['network_mails', 'total_mails'] as const },
  }
  for (const path of ['/reset-password', '/api/auth/reset-password']) {
    server.post(path, requestOptions, async (request, reply) => {
      const withheld = !(await mailLimits.mayMailStranger(request, 'visitor'))
      await takeAtLeast(minResponseTime, resetPassword.requestMail(request.body, clientOf(request), withheld))
      return reply.status(202).send(acceptedBody)
    })
  }

  const checkOptions = { schema: checkSchema, onRequest: limits.byNetwork }
  server.post('/api/auth/reset-password/check', checkOptions, async (request, reply) => {
    const resetLink = await resetPassword.describe(request.body.token)
    if (isRefused(resetLink)) return checkRefusals.sendRefusal(reply, resetLink)
    const { user, applicationId } = resetLink
    const application = applicationId === undefined ? undefined : await applications.find(applicationId)
    return { username: user.username, ...(application && { application: publicApplication(application) }) }
  })

  const { signIns, cookies, signInCookies } = deps
  const onRequest = limits.beforeSignIn.reset
  const confirmOptions = { schema: confirmSchema, onRequest, onSend: countedRequests.refundSuccess }
  server.post('/api/auth/reset-password/confirm', confirmOptions, async (request, reply) => {
    const { token, password, signIn = false } = request.body
    const result = await resetPassword.confirm(token, password, clientOf(request))
    if (isRefused(result)) return confirmRefusals.sendRefusal(reply, result)
    const { user, passwordHash } = result
    await recoveredAccounts.forgetLimits(user, request)
    const visit = recoveredAccounts.visitOf(user, request)
    // The password is changed and the link is used up. If the store cannot begin a session now, the owner signs in.
    const outcome = signIn ? await signIns.byReset(user, passwordHash, visit).catch(undefinedIfUnavailable) : undefined
    // A new session already makes its browser known.
    if (!outcome || !('issued' in outcome)) recoveredAccounts.rememberBrowser(user, request, reply)
    return outcome ? sendSignInStep(reply, { cookies, signInCookies }, outcome) : reply.status(204).send()
  })
}
