import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { AccountChanges } from '../account-changes/account-changes.js'
import { EmailLink } from '../contract/mailed-links.js'
import { isRefused, refuse } from '../contract/outcome.js'
import { LinkToken, NoContent, TypedPassword } from '../contract/schemas.js'
import type { NextSteps } from '../factors/second-factors.js'
import type { Cookies } from '../http/cookies.js'
import type { CountedRequests } from '../http/limits.js'
import { type Client, clientOf } from '../http/request-origin.js'
import { guardRefusals, routeRefusals, withHeaders } from '../http/route.js'
import type { Server } from '../http/server.js'
import { fingerprint } from '../lib/random.js'
import type { Events } from '../messages/events.js'
import type { Passwords } from '../passwords/passwords.js'
import type { Transaction } from '../platform/database/database.js'
import type { Invitations } from '../registration/invitations.js'
import type { Callers } from '../sessions/callers.js'
import type { Guards, Limits } from '../sessions/guards.js'
import type { CallerContext } from '../sessions/session-facts.js'
import type { SessionLookups } from '../sessions/session-lookups.js'
import type { SessionCaller } from '../sessions/sessions.js'
import type { PasswordGuesses } from '../sign-in/guess-limits.js'
import type { User, UserChanges, Users } from '../users/users.js'
import type { EmailChange, EmailChanges } from './email-changes.js'

type ProofDependencies = {
  users: Users
  passwords: Passwords
  sessionLookups: SessionLookups
  nextSteps: NextSteps
  events: Events
}

type Confirmation = { token: string; password?: string | undefined; caller: SessionCaller | undefined }

/** How the owner was recognised. A session gets new tokens after the change. */
type Proof = { caller: SessionCaller } | { passwordHash: string }

/** Proves that the user of a mailed link is the owner of the account. */
export const createConfirmationProofs = (deps: ProofDependencies) => {
  const { users, passwords, sessionLookups, nextSteps, events } = deps

  /** The proof that is needed: a session of the user, or else the password; a sign-in, if the password alone signs no user in. */
  const neededProof = async ({ id, passwordHash }: User, caller: SessionCaller | undefined) => {
    if (caller?.userId === id && (await sessionLookups.isLive(caller))) return 'session' as const
    const isPasswordEnough = passwordHash !== undefined && (await nextSteps.nextFor(id)) === undefined
    return isPasswordEnough ? ('password' as const) : ('sign_in' as const)
  }

  const proofFor = async ({ userId }: EmailChange, { caller, password }: Confirmation, client: Client) => {
    const user = await users.findEnabled(userId)
    if (!user) return refuse('not_authenticated')
    const needed = await neededProof(user, caller)
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
   * Whether the proven password is still the current one and still enough to sign in. A session is checked by
   * `accountChanges.byLink`, with the user's row locked.
   */
  const isStillValid = async (sql: Transaction, user: User, proof: Proof) =>
    'caller' in proof ||
    (user.passwordHash === proof.passwordHash && (await nextSteps.nextFor(sql, user.id)) === undefined)

  return { neededProof, proofFor, isStillValid }
}

type ConfirmContext = { userId: string; client: Client; caller: SessionCaller | undefined }

type ConfirmEmailDependencies = {
  accountChanges: AccountChanges
  users: Users
  userChanges: UserChanges
  emailChanges: EmailChanges
  invitations: Invitations
  confirmationProofs: ReturnType<typeof createConfirmationProofs>
}

/** Confirms a new address, by the mailed link or its code. */
export const createConfirmEmail = (deps: ConfirmEmailDependencies) => {
  const { accountChanges, users, userChanges, emailChanges, invitations } = deps
  const { neededProof, proofFor, isStillValid } = deps.confirmationProofs

  /** Describes the change for the page of the link. It leaves out the username, because a mistyped address belongs to another person. */
  const describe = async (token: string, caller: SessionCaller | undefined) => {
    const emailChange = await emailChanges.find(token)
    const user = emailChange && (await users.findEnabled(emailChange.userId))
    if (!user) return refuse('invalid_link')
    const { email } = emailChange.email
    return { email, present: user.email === email, proof: await neededProof(user, caller) }
  }

  /** Confirms by the link. A session gets new tokens with the new email; without a session, the link signs no user in. */
  const confirm = async (request: Confirmation, client: Client) => {
    const emailChange = await emailChanges.find(request.token)
    if (!emailChange) return refuse('invalid_link')
    const proof = await proofFor(emailChange, request, client)
    if (isRefused(proof)) return proof
    const context = { userId: emailChange.userId, client, caller: 'caller' in proof ? proof.caller : undefined }
    return change(context, fingerprint(request.token), proof)
  }

  /** Confirms by the code of the mail, in the session that asked for the change. */
  const confirmByCode = async ({ caller, client }: CallerContext, code: string) => {
    const checked = await emailChanges.checkCode(caller, code)
    return isRefused(checked) ? checked : change({ userId: caller.userId, client, caller }, checked.hash, { caller })
  }

  const change = (context: ConfirmContext, hash: Uint8Array, proof: Proof) => {
    const confirming = accountChanges.byLink(context, ['email_changed', 'email_proven'], async (sql, user) => {
      const confirmed = await emailChanges.findByHash(sql, hash)
      if (!confirmed) return refuse('invalid_link')
      const { email, askedAt } = confirmed
      const refused = await invitations.refusalForAddress(sql, email, askedAt)
      if (refused && user.email !== email.email) return refused
      if (!(await isStillValid(sql, user, proof))) return refuse('not_authenticated')
      if (user.email === email.email) {
        await userChanges.proveEmail(sql, user.id)
        return { changes: { email_proven: {} } }
      }
      await emailChanges.apply(sql, user, email, { isProven: true })
      await invitations.forgetUseless(sql, email)
      return { changes: { email_changed: { mail: { newEmail: email.email } } } }
    })
    return emailChanges.unlessTaken(confirming)
  }

  /** Finds the user whose change the link confirms. */
  const userOf = async (token: string) => {
    const emailChange = await emailChanges.find(token)
    return emailChange && users.findById(emailChange.userId)
  }

  return { describe, confirm, confirmByCode, userOf }
}

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

type ConfirmEmailRouteDependencies = {
  guards: Guards
  confirmEmail: ReturnType<typeof createConfirmEmail>
  callers: Callers
  cookies: Cookies
  limits: Limits
  passwordGuesses: PasswordGuesses
  countedRequests: CountedRequests
}

export const confirmEmailRoutes = (server: Server, deps: ConfirmEmailRouteDependencies) => {
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
