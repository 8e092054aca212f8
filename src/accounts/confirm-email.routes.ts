import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { EmailLink } from '../contract/mailed-links.js'
import { isRefused, refuse } from '../contract/outcome.js'
import { LinkToken, NoContent, TypedPassword } from '../contract/schemas.js'
import { type Client, clientOf } from '../http/request-origin.js'
import { route, type Server, withHeaders } from '../http/route.js'
import { fingerprint } from '../lib/random.js'
import type { Transaction } from '../platform/database/database.js'
import type { App } from '../service/open-http.js'
import { sendTokensOnly } from '../sessions/session-cookies.js'
import type { CallerContext, SessionCaller } from '../sessions/session-facts.js'
import type { User } from '../users/users.js'
import type { EmailChange } from './email-changes.js'

type Confirmation = { token: string; password?: string | undefined; caller: SessionCaller | undefined }

/** How the owner was recognised. A session gets new tokens after the change. */
type Proof = { caller: SessionCaller } | { passwordHash: string }

/** The proof that is needed: a session of the user, or else the password; a sign-in, if the password alone signs no user in. */
const neededProof = async (
  { sessionLookups, factors }: App,
  { id, passwordHash }: User,
  caller: SessionCaller | undefined,
) => {
  if (caller?.userId === id && (await sessionLookups.isLive(caller))) return 'session' as const
  const isPasswordEnough = passwordHash !== undefined && (await factors.nextStepFor(id)) === undefined
  return isPasswordEnough ? ('password' as const) : ('sign_in' as const)
}

/** Proves that the user of a mailed link is the owner of the account. */
const proofFor = async (app: App, { userId }: EmailChange, { caller, password }: Confirmation, client: Client) => {
  const { users, passwords, events } = app
  const user = await users.findEnabled(userId)
  if (!user) return refuse('not_authenticated')
  const needed = await neededProof(app, user, caller)
  if (needed === 'session' && caller) return { caller }
  if (needed !== 'password' || user.passwordHash === undefined) return refuse('not_authenticated')
  if (password === undefined) return refuse('password_required')
  const verified = await passwords.verify(password, user.passwordHash, client)
  if (isRefused(verified)) return verified
  if (verified.matches) return { passwordHash: user.passwordHash }
  await events.record({ kind: 'email_change_failed', userId, reason: 'wrong_password' }, client)
  return refuse('wrong_current_password')
}

/**
 * Whether the proven password is still the current one and still enough to sign in. A session is checked by `accountChanges.byLink`, with
 * the user's row locked.
 */
const isStillValid = async ({ factors }: App, sql: Transaction, user: User, proof: Proof) =>
  'caller' in proof ||
  (user.passwordHash === proof.passwordHash && (await factors.nextStepFor(sql, user.id)) === undefined)

type ConfirmContext = { userId: string; client: Client; caller: SessionCaller | undefined }

const changeEmail = (app: App, context: ConfirmContext, hash: Uint8Array, proof: Proof) => {
  const { accountChanges, userChanges, emailChanges, invitations } = app
  const confirming = accountChanges.byLink(context, ['email_changed', 'email_proven'], async (sql, user) => {
    const confirmed = await emailChanges.findByHash(sql, hash)
    if (!confirmed) return refuse('invalid_link')
    const { email, askedAt } = confirmed
    const refused = await invitations.refusalForAddress(sql, email, askedAt)
    if (refused && user.email !== email.email) return refused
    if (!(await isStillValid(app, sql, user, proof))) return refuse('not_authenticated')
    if (user.email === email.email) {
      sql.unawaited(userChanges.proveEmail(sql, user.id))
      return { changes: { email_proven: {} } }
    }
    await emailChanges.apply(sql, user, email, { isProven: true })
    sql.unawaited(invitations.forgetUseless(sql, email))
    return { changes: { email_changed: { mail: { newEmail: email.email } } } }
  })
  return emailChanges.unlessTaken(confirming)
}

/** Confirms by the link. A session gets new tokens with the new email; without a session, the link signs no user in. */
const confirmByLink = async (app: App, request: Confirmation, client: Client) => {
  const emailChange = await app.emailChanges.find(request.token)
  if (!emailChange) return refuse('invalid_link')
  const proof = await proofFor(app, emailChange, request, client)
  if (isRefused(proof)) return proof
  const context = { userId: emailChange.userId, client, caller: 'caller' in proof ? proof.caller : undefined }
  return changeEmail(app, context, fingerprint(request.token), proof)
}

/** Confirms by the code of the mail, in the session that asked for the change. */
const confirmByCode = async (app: App, { caller, client }: CallerContext, code: string) => {
  const checked = await app.emailChanges.checkCode(caller, code)
  return isRefused(checked)
    ? checked
    : changeEmail(app, { userId: caller.userId, client, caller }, checked.hash, { caller })
}

/** A guess of the password counts like a sign-in, also in the limit for guesses from many networks. */
const countPassword = async (app: App, request: FastifyRequest, reply: FastifyReply) => {
  const { token, password } = request.body as { token: string; password?: string }
  if (password === undefined) return undefined
  const emailChange = await app.emailChanges.find(token)
  const user = emailChange && (await app.users.findById(emailChange.userId))
  return user ? app.passwordGuesses.byUser(user, user.username, request, reply) : app.limits.login(request, reply)
}

export const confirmEmailRoutes = (server: Server, app: App) => {
  const { guards, callers, cookies, limits, countedRequests, emailChanges, users } = app
  const tag = 'account'

  // The answer leaves out the username, because a mistyped address belongs to another person.
  route(server, 'POST /api/auth/email/check', {
    guard: [limits.byNetwork],
    tag,
    summary: 'Whether a link still works, the address that it confirms, and what has to be proven; changes nothing',
    body: Type.Object({ token: LinkToken }),
    refuses: ['bad_request', 'invalid_link', 'cross_site'],
    answers: { 200: EmailLink },
    handle: async ({ body, request }) => {
      const emailChange = await emailChanges.find(body.token)
      const user = emailChange && (await users.findEnabled(emailChange.userId))
      if (!user) return refuse('invalid_link')
      const { email } = emailChange.email
      return { email, present: user.email === email, proof: await neededProof(app, user, callers.find(request)) }
    },
  })

  route(server, 'POST /api/auth/email/code', {
    guard: guards.change,
    tag,
    summary:
      'Confirm a new email address by the code of the mail, in the session that asked for it; otherwise the same as by the link',
    body: Type.Object({ code: Type.String({ minLength: 1, maxLength: 32 }) }),
    refuses: [
      'bad_request',
      'invalid_link',
      'wrong_mailed_code',
      'mailed_code_void',
      'other_browser',
      'email_domain_not_allowed',
      'email_taken',
      'too_many_groups',
    ],
    answers: { 204: withHeaders(NoContent, { 'Set-Cookie': 'New access_token and refresh_token' }) },
    handle: async ({ body, request, reply }) => {
      const confirmed = await confirmByCode(app, callers.contextOf(request), body.code)
      return isRefused(confirmed) ? confirmed : sendTokensOnly(reply, cookies, confirmed.issued)
    },
  })

  route(server, 'POST /api/auth/email/confirm', {
    guard: [limits.byNetwork],
    tag,
    summary: 'Confirm a new email address; ends the other sessions and sets new tokens for this one',
    description:
      'Needs a session of the user who asked for the address. Without a session, the password is enough, unless the account has two-step sign-in or every account needs it; no session begins then.',
    body: Type.Object({ token: LinkToken, password: Type.Optional(TypedPassword) }),
    refuses: [
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
    ],
    answers: { 204: withHeaders(NoContent, { 'Set-Cookie': 'New access_token and refresh_token, with a session' }) },
    preHandler: (request, reply) => countPassword(app, request, reply),
    config: { countsIn: ['login', 'account'] },
    onSend: countedRequests.refundSuccess,
    handle: async ({ body: { token, password }, request, reply }) => {
      const confirmation = { token, password, caller: callers.find(request) }
      const confirmed = await confirmByLink(app, confirmation, clientOf(request))
      if (!isRefused(confirmed)) return sendTokensOnly(reply, cookies, confirmed.issued)
      if (confirmed.refused !== 'wrong_current_password') countedRequests.refundDespiteRefusal(request)
      return confirmed
    },
  })
}
