import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { MailLoginLink, MailLoginNext, MailRegistration } from '../contract/mailed-links.js'
import { longestName } from '../contract/name-lengths.js'
import { isRefused, refuse } from '../contract/outcome.js'
import { ProfileFieldChanges } from '../contract/profile-fields.js'
import {
  Accepted,
  LinkToken,
  SecondFactorNeeded,
  SignedIn,
  TypedUsername,
  withRequiredUsername,
} from '../contract/schemas.js'
import { usernameRefusals } from '../contract/usernames.js'
import { clientOf } from '../http/request-origin.js'
import { route, withHeaders } from '../http/route.js'
import type { Server } from '../http/server.js'
import { minResponseTime, takeAtLeast } from '../lib/timing.js'
import type { Transaction } from '../platform/database/database.js'
import type { App } from '../service/open-http.js'
import type { Browser } from '../sessions/session-facts.js'
import {
  displayName,
  type Email,
  readChosenUsername,
  readEmail,
  type Username,
  usernameFromEmail,
} from '../users/names.js'
import { noteFailedSignIn, sendSignInStep } from './answers.js'
import type { ProvenMail } from './mail-sign-ins.js'

/** The cookie that ties a mail to the browser that asked for it. */
const boundCookie = 'attempt_mail'

/** Counts the mail, sends it or not, and returns the new value of the browser's cookie. */
const askForMail = async (app: App, email: Email, request: FastifyRequest) => {
  const { mailSignInLimits, mailSignIns, cookies, signInCookies } = app
  const counted = await mailSignInLimits.count(email.email, request)
  if ('excess' in counted) return counted
  const formerBrowserToken = cookies.read(request, boundCookie)
  const { facts } = signInCookies.visitOf(request, {})
  const newRequest = { email, formerBrowserToken, withheld: !counted.mayMail, facts }
  return { browserToken: await mailSignIns.begin(newRequest, clientOf(request)) }
}

type MailProof = { code: string } | { token: string }

const findByCode = async (app: App, code: string, browserToken: string | undefined, { client }: Browser) => {
  const found = await app.mailSignIns.findByCode(code, browserToken)
  if (!isRefused(found)) return found
  const { refused, userId } = found
  const reason = refused === 'wrong_mailed_code' ? 'mail_wrong_code' : 'mail_code_void'
  await noteFailedSignIn(app, client, { triedBy: 'mail', reason, userId })
  return refuse(refused)
}

const signInToAccount = async (app: App, proven: Extract<ProvenMail, { userId: string }>, browser: Browser) => {
  const { users, userChanges, mailSignIns, signIns } = app
  /** Locks the user's row, as every change of the account that voids the mail does. */
  const claim = async (sql: Transaction) => {
    const user = await users.lockEnabled(sql, proven.userId)
    if (!user || !(await mailSignIns.take(sql, proven))) return undefined
    sql.unawaited(userChanges.proveEmail(sql, user.id))
    return user
  }
  const user = await users.findEnabled(proven.userId)
  return user && signIns.byMail(user, { claim, isNew: false }, { ...browser, facts: proven.facts })
}

/**
 * Returns the secret with which this browser can register. Undefined if the mail was used in the meantime, or the address has got an
 * account.
 */
const beginRegistration = async (
  { users, mailSignIns }: App,
  { id, email }: Extract<ProvenMail, { email: string }>,
) => {
  if (await users.findByEmail(email)) return undefined
  const registrationToken = await mailSignIns.prove(id)
  return registrationToken === undefined ? undefined : { registrationToken }
}

/** Signs in with a mailed code or link, in the browser that asked for it. */
const signInByMail = async (app: App, proof: MailProof, browserToken: string | undefined, browser: Browser) => {
  const proven = await ('code' in proof
    ? findByCode(app, proof.code, browserToken, browser)
    : app.mailSignIns.findByToken(proof.token, browserToken))
  if (isRefused(proven)) return proven
  const entered = await ('userId' in proven ? signInToAccount(app, proven, browser) : beginRegistration(app, proven))
  return entered ?? refuse('code' in proof ? 'mailed_code_void' : 'invalid_link')
}

/** Describes the registration for the form, in the browser that has proven the address. */
const describeRegistration = async (
  { mailSignIns, newUsers, profileFields, termsOfUse }: App,
  browserToken: string,
): Promise<MailRegistration | undefined> => {
  const email = await mailSignIns.findProven(browserToken)
  if (!email) return undefined
  const { username } = await newUsers.freeUsername(usernameFromEmail(email).username)
  const fields = profileFields.definitions.filter(({ registration }) => registration)
  return { email: email.email, username, fields, ...(termsOfUse && { terms: termsOfUse }) }
}

type RegistrationForm = {
  /** Undefined only if the username is made from the address (USERNAMES). */
  username?: string | undefined
  name?: string | undefined
  fields?: ProfileFieldChanges | undefined
  /** The version of the terms that the user has seen and agreed to. */
  terms?: string | undefined
}

/** Creates the account of an address that was proven by a mail, and signs in. The account has no password. */
const register = async (app: App, browserToken: string, form: RegistrationForm, request: FastifyRequest) => {
  const { mailSignIns, newUsers, usernames, profileFields, termsOfUse, ceilings, events, signIns } = app
  const browser = app.signInCookies.browserOf(request)
  const email = await mailSignIns.findProven(browserToken)
  if (!email) return refuse('challenge_over')
  const username = form.username === undefined ? undefined : readChosenUsername(form.username)
  if (isRefused(username)) return username
  if (form.terms !== undefined && form.terms !== termsOfUse?.version) return refuse('terms_changed')
  const fields = profileFields.initialValues(form.fields)
  if (isRefused(fields)) return fields
  if (username && !(await usernames.mayBeChosen(username))) return refuse('username_taken')
  const excess = await ceilings.findExcessOfProven(email, request)
  if (excess) return refuse('too_many_requests', { excess })
  const account = { email, name: displayName(form.name), language: browser.client.language, fields }
  const registerAs = (name: Username) => mailSignIns.register(browserToken, { ...account, username: name }, form.terms)
  const registered = username
    ? await registerAs(username)
    : await newUsers.withFreeUsername(
        email,
        registerAs,
        (outcome) => isRefused(outcome) && outcome.refused === 'username_taken',
      )
  if (isRefused(registered)) return registered
  const { user, facts, usedInvitation } = registered
  if (usedInvitation) await events.record({ kind: 'invitation_used', userId: user.id }, browser.client)
  return (await signIns.byMail(user, { isNew: true }, { ...browser, facts })) ?? refuse('challenge_over')
}

/** The body is the same in every case, so it does not show whether the address has an account, may have one, or has got too many mails. */
const acceptedBody = { message: 'Check your mail to sign in' }

const path = '/api/auth/mail-login'

/** Asking for the mail. Where mail is off, the answer says so. */
export const askForMailRoutes = (server: Server, app: App) => {
  const { limits, cookies, ceilings } = app

  route(server, `POST ${path}`, {
    guard: [app.needsMail, app.needsMailSignIn, limits.byNetwork],
    tag: 'sign in',
    summary: 'Mail a code and a link to sign in, for this browser only',
    body: Type.Object({ email: Type.String({ maxLength: 1024 }) }),
    refuses: ['bad_request', 'email_shape', 'cross_site', 'mail_is_off'],
    answers: {
      202: withHeaders(Accepted, { 'Set-Cookie': 'attempt_mail, which ties the mail to this browser' }),
    },
    config: { countsIn: ['mail_sign_ins', 'network_mail_sign_ins', 'total_mails', 'total_mail_sign_ins'] },
    handle: async ({ body, request, reply }) => {
      const email = readEmail(body.email)
      if (isRefused(email)) return email
      const asked = await takeAtLeast(minResponseTime, askForMail(app, email, request))
      if ('excess' in asked) return ceilings.answerExcess(reply, 'total_mail_sign_ins', asked.excess)
      cookies.set(reply, boundCookie, asked.browserToken)
      return acceptedBody
    },
  })
}

/** Signing in with the code or the link of the mail. */
export const mailLoginRoutes = (server: Server, app: App) => {
  const { limits, cookies, signInCookies, mailSignIns } = app

  const sendRegistration = async (reply: FastifyReply, browserToken: string) => {
    const description = await describeRegistration(app, browserToken)
    if (!description) return refuse('mailed_code_void')
    cookies.set(reply, boundCookie, browserToken)
    return reply.status(202).send({ next: 'registration', methods: [], ...description })
  }

  route(server, `POST ${path}/confirm`, {
    guard: [app.needsMailSignIn, limits.beforeSignIn.mail],
    tag: 'sign in',
    summary: 'Sign in with the code or the link of the mail, in the browser that asked for it',
    description:
      'Takes `code` or `token`. A link that another browser asked for is not used up. `next: "registration"`: the address has no account; POST /api/auth/mail-login/registration creates it.',
    body: Type.Object({
      code: Type.Optional(Type.String({ minLength: 1, maxLength: 32, description: 'Spaces and hyphens are ignored' })),
      token: Type.Optional(LinkToken),
    }),
    refuses: ['bad_request', 'invalid_link', 'wrong_mailed_code', 'mailed_code_void', 'other_browser', 'cross_site'],
    answers: {
      200: withHeaders(SignedIn, { 'Set-Cookie': 'access_token and refresh_token; clears attempt_mail' }),
      202: withHeaders(MailLoginNext, { 'Set-Cookie': 'challenge, for POST /api/auth/second-factor, or attempt_mail' }),
    },
    onSend: app.countedRequests.refundSuccess,
    handle: async ({ body: { code, token }, request, reply }) => {
      const proof = code === undefined ? token !== undefined && { token } : token === undefined && { code }
      if (!proof) return refuse('bad_request', { message: 'Send token or code' })
      const browser = signInCookies.browserOf(request)
      const outcome = await signInByMail(app, proof, cookies.read(request, boundCookie), browser)
      if (isRefused(outcome)) return outcome
      if ('registrationToken' in outcome) return sendRegistration(reply, outcome.registrationToken)
      cookies.clear(reply, boundCookie)
      return sendSignInStep(reply, app, outcome)
    },
  })

  route(server, `POST ${path}/check`, {
    guard: [app.needsMailSignIn, limits.byNetwork],
    tag: 'sign in',
    summary: 'Whether the link of the mail signs in here; changes nothing',
    body: Type.Object({ token: LinkToken }),
    refuses: ['bad_request', 'cross_site'],
    answers: { 200: MailLoginLink },
    handle: async ({ body, request }) => {
      const found = await mailSignIns.findByToken(body.token, cookies.read(request, boundCookie))
      if (!isRefused(found)) return { state: 'usable' as const }
      return { state: found.refused === 'other_browser' ? ('other_browser' as const) : ('over' as const) }
    },
  })
}

/** The registration of an address that has no account yet. */
export const mailRegistrationRoutes = (server: Server, app: App) => {
  const { limits, cookies, ceilings } = app

  route(server, `GET ${path}/registration`, {
    guard: [app.needsMailSignIn, limits.byNetwork],
    tag: 'sign in',
    summary: 'What the registration of this browser asks for, after its address was proven by the mail',
    refuses: ['challenge_over'],
    answers: { 200: MailRegistration },
    handle: async ({ request }) =>
      (await describeRegistration(app, cookies.read(request, boundCookie) ?? '')) ?? refuse('challenge_over'),
  })

  const form = Type.Object({
    username: Type.Optional(TypedUsername),
    name: Type.Optional(Type.String({ maxLength: longestName })),
    fields: Type.Optional(ProfileFieldChanges),
    terms: Type.Optional(Type.String({ maxLength: 64, description: 'The version that the user agrees to' })),
  })
  route(server, `POST ${path}/registration`, {
    guard: [app.needsMailSignIn, limits.byNetwork],
    tag: 'sign in',
    summary: 'Make the account of an address that was proven by the mail, and sign in',
    body: withRequiredUsername(form, app.usernameSource),
    refuses: [
      'bad_request',
      ...usernameRefusals,
      'challenge_over',
      'registration_closed',
      'invitation_required',
      'email_domain_not_allowed',
      'cross_site',
      'already_registered',
      'username_taken',
      'invalid_fields',
      'terms_changed',
    ],
    answers: {
      200: withHeaders(SignedIn, { 'Set-Cookie': 'access_token and refresh_token; clears attempt_mail' }),
      202: withHeaders(SecondFactorNeeded, { 'Set-Cookie': 'challenge, for POST /api/auth/second-factor' }),
    },
    config: { countsIn: ['total_registrations'] },
    handle: async ({ body, request, reply }) => {
      const outcome = await register(app, cookies.read(request, boundCookie) ?? '', body, request)
      if (isRefused(outcome))
        return outcome.refused === 'too_many_requests'
          ? ceilings.answerExcess(reply, 'total_registrations', outcome.excess)
          : outcome
      cookies.clear(reply, boundCookie)
      return sendSignInStep(reply, app, outcome)
    },
  })
}
