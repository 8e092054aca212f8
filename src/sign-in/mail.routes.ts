import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import { MailLoginLink, MailLoginNext, MailRegistration } from '../contract/mailed-links.js'
import { longestName } from '../contract/names.js'
import { isRefused, refuse } from '../contract/outcome.js'
import type { UsernameSource } from '../contract/pages.js'
import { ProfileFieldChanges } from '../contract/profile-fields.js'
import {
  Accepted,
  LinkToken,
  SecondFactorNeeded,
  SignedIn,
  type TermsOfUse,
  TypedUsername,
  withRequiredUsername,
} from '../contract/schemas.js'
import type { Cookies } from '../http/cookies.js'
import type { CountedRequests } from '../http/limits.js'
import { clientOf } from '../http/request-origin.js'
import type { NeedsMail } from '../http/route.js'
import { routeRefusals, withHeaders } from '../http/route.js'
import type { Server } from '../http/server.js'
import { minResponseTime, takeAtLeast } from '../lib/timing.js'
import type { Events } from '../messages/events.js'
import type { Reservation } from '../platform/cache/cache.js'
import type { Transaction } from '../platform/database/database.js'
import type { Limits } from '../sessions/guards.js'
import type { SignInCookies } from '../sessions/session-cookies.js'
import {
  displayName,
  type Email,
  readChosenUsername,
  readEmail,
  type Username,
  usernameFromEmail,
} from '../users/names.js'
import type { NewUsers } from '../users/new-users.js'
import type { ProfileFields } from '../users/profile-fields.js'
import type { Usernames } from '../users/usernames.js'
import type { UserChanges, Users } from '../users/users.js'
import { sendSignInStep } from './answers.js'
import type { Ceilings } from './ceilings.js'
import type { MailSignInLimits } from './guess-limits.js'
import type { CompleteMailRegistration, MailSignIns, ProvenMail } from './mail-sign-ins.js'
import type { SignIns, Visit } from './sign-ins.js'

type MailProof = { code: string } | { token: string }

type MailLoginDependencies = {
  mailSignIns: MailSignIns
  signIns: SignIns
  users: Users
  userChanges: UserChanges
  events: Events
}

/** Signs in with a mailed code or link, in the browser that asked for it. */
export const createMailLogin = ({ mailSignIns, signIns, users, userChanges, events }: MailLoginDependencies) => {
  /** An event of a known user takes the database longer than one without a user. The answer waits long enough to hide this. */
  const noteFailure = async ({ client }: Visit, reason: string, userId: string | undefined) => {
    const failed = { kind: 'sign_in_failed', triedBy: 'mail', reason: `mail_${reason}` } as const
    await takeAtLeast(minResponseTime, events.record({ ...failed, ...(userId !== undefined && { userId }) }, client))
  }

  const byCode = async (code: string, browserToken: string | undefined, visit: Visit) => {
    const mailSignIn = await mailSignIns.findByCode(code, browserToken)
    if (!isRefused(mailSignIn)) return mailSignIn
    await noteFailure(visit, mailSignIn.refused === 'wrong_mailed_code' ? 'wrong_code' : 'code_void', mailSignIn.userId)
    return refuse(mailSignIn.refused)
  }

  /** Locks the user's row, as every change of the account that voids the mail does. */
  const claim = (proven: Extract<ProvenMail, { userId: string }>) => async (sql: Transaction) => {
    const user = await users.lockEnabled(sql, proven.userId)
    if (!user || !(await mailSignIns.take(sql, proven))) return false
    await userChanges.proveEmail(sql, user.id)
    return true
  }

  const enter = async (proven: Extract<ProvenMail, { userId: string }>, visit: Visit) => {
    const user = await users.findEnabled(proven.userId)
    return user && signIns.byMail(user, { claim: claim(proven), isNew: false }, visit)
  }

  /**
   * Returns the secret with which this browser can register. Undefined if the mail was used in the meantime, or the address has got an
   * account.
   */
  const beginRegistration = async ({ id, email }: Extract<ProvenMail, { email: string }>) => {
    if (await users.findByEmail(email)) return undefined
    const registrationToken = await mailSignIns.prove(id)
    return registrationToken === undefined ? undefined : { registrationToken }
  }

  return async (proof: MailProof, browserToken: string | undefined, visit: Visit) => {
    const proven = await ('code' in proof
      ? byCode(proof.code, browserToken, visit)
      : mailSignIns.findByToken(proof.token, browserToken))
    if (isRefused(proven)) return proven
    const entered = await ('userId' in proven ? enter(proven, visit) : beginRegistration(proven))
    return entered ?? refuse('code' in proof ? 'mailed_code_void' : 'invalid_link')
  }
}

/** The body is the same in every case, so it does not show whether the address has an account, may have one, or has got too many mails. */
const acceptedBody = { message: 'Check your mail to sign in' }

const askRefusals = routeRefusals(
  'bad_request',
  'email_shape',
  'cross_site',
  'mail_is_off',
  'too_many_requests',
  'unavailable',
)
const confirmRefusals = routeRefusals(
  'bad_request',
  'invalid_link',
  'wrong_mailed_code',
  'mailed_code_void',
  'other_browser',
  'cross_site',
  'too_many_requests',
  'unavailable',
)
const checkRefusals = routeRefusals('bad_request', 'cross_site', 'too_many_requests', 'unavailable')

const tags = ['sign in']
const boundCookie = 'attempt_mail, which ties the mail to this browser'
const mailLoginSchemas = {
  ask: {
    tags,
    summary: 'Mail a code and a link to sign in, for this browser only',
    body: Type.Object({ email: Type.String({ maxLength: 1024 }) }),
    response: { 202: withHeaders(Accepted, { 'Set-Cookie': boundCookie }), ...askRefusals.responses },
  },
  confirm: {
    tags,
    summary: 'Sign in with the code or the link of the mail, in the browser that asked for it',
    description:
      'Takes `code` or `token`. A link that another browser asked for is not used up. `next: "registration"`: the address has no account; POST /api/auth/mail-login/registration creates it.',
    body: Type.Object({
      code: Type.Optional(Type.String({ minLength: 1, maxLength: 32, description: 'Spaces and hyphens are ignored' })),
      token: Type.Optional(LinkToken),
    }),
    response: {
      200: withHeaders(SignedIn, { 'Set-Cookie': 'access_token and refresh_token; clears attempt_mail' }),
      202: withHeaders(MailLoginNext, { 'Set-Cookie': 'challenge, for POST /api/auth/second-factor, or attempt_mail' }),
      ...confirmRefusals.responses,
    },
  },
  check: {
    tags,
    summary: 'Whether the link of the mail signs in here; changes nothing',
    body: Type.Object({ token: LinkToken }),
    response: { 200: MailLoginLink, ...checkRefusals.responses },
  },
}

type MailLoginRouteDependencies = {
  mailLogin: ReturnType<typeof createMailLogin>
  mailRegistration: ReturnType<typeof createMailRegistration>
  mailSignIns: MailSignIns
  mailSignInLimits: MailSignInLimits
  ceilings: Ceilings
  limits: Limits
  needsMail: NeedsMail
  countedRequests: CountedRequests
  cookies: Cookies
  signInCookies: SignInCookies
}

const path = '/api/auth/mail-login'

export const mailLoginRoutes = (server: Server, deps: MailLoginRouteDependencies) => {
  const { mailLogin, mailRegistration, mailSignIns, mailSignInLimits, ceilings, limits, needsMail, countedRequests } =
    deps
  const { cookies, signInCookies } = deps
  const askOptions = {
    schema: mailLoginSchemas.ask,
    onRequest: [needsMail, limits.byNetwork],
    config: { countsIn: ['mail_sign_ins', 'network_mail_sign_ins', 'total_mails', 'total_mail_sign_ins'] as const },
  }
  server.post(path, askOptions, async (request, reply) => {
    const email = readEmail(request.body.email)
    if (isRefused(email)) return askRefusals.sendRefusal(reply, email)
    const beginSignIn = async () => {
      const counted = await mailSignInLimits.count(email.email, request)
      if ('excess' in counted) return counted
      const formerBrowserToken = cookies.read(request, 'attempt_mail')
      const newRequest = { email, formerBrowserToken, withheld: !counted.mayMail }
      return { browserToken: await mailSignIns.begin(newRequest, clientOf(request)) }
    }
    const begun = await takeAtLeast(minResponseTime, beginSignIn())
    if ('excess' in begun) return ceilings.answerExcess(reply, 'total_mail_sign_ins', begun.excess)
    cookies.set(reply, 'attempt_mail', begun.browserToken)
    return reply.status(202).send(acceptedBody)
  })

  const sendRegistration = async (reply: FastifyReply, browserToken: string) => {
    const description = await mailRegistration.describe(browserToken)
    if (!description) return confirmRefusals.sendRefusal(reply, refuse('mailed_code_void'))
    cookies.set(reply, 'attempt_mail', browserToken)
    return reply.status(202).send({ next: 'registration', methods: [], ...description })
  }

  const confirmOptions = {
    schema: mailLoginSchemas.confirm,
    onRequest: limits.beforeSignIn.mail,
    onSend: countedRequests.refundSuccess,
  }
  server.post(`${path}/confirm`, confirmOptions, async (request, reply) => {
    const { code, token } = request.body
    const proof = code === undefined ? token !== undefined && { token } : token === undefined && { code }
    if (!proof) return confirmRefusals.sendRefusal(reply, refuse('bad_request', { message: 'Send token or code' }))
    const outcome = await mailLogin(proof, cookies.read(request, 'attempt_mail'), signInCookies.visitOf(request))
    if (isRefused(outcome)) return confirmRefusals.sendRefusal(reply, outcome)
    if ('registrationToken' in outcome) return sendRegistration(reply, outcome.registrationToken)
    cookies.clear(reply, 'attempt_mail')
    return sendSignInStep(reply, { cookies, signInCookies }, outcome)
  })

  server.post(`${path}/check`, { schema: mailLoginSchemas.check, onRequest: limits.byNetwork }, async (request) => {
    const mailSignIn = await mailSignIns.findByToken(request.body.token, cookies.read(request, 'attempt_mail'))
    if (!isRefused(mailSignIn)) return { state: 'usable' as const }
    return { state: mailSignIn.refused === 'other_browser' ? ('other_browser' as const) : ('over' as const) }
  })
}

type RegistrationForm = {
  /** Undefined only if the username is made from the address (USERNAMES). */
  username?: string | undefined
  name?: string | undefined
  fields?: ProfileFieldChanges | undefined
  /** The version of the terms that the user has seen and agreed to. */
  terms?: string | undefined
}

type FindExcess = (email: Email) => Promise<Reservation | undefined>

type MailRegistrationDependencies = {
  mailSignIns: MailSignIns
  completeMailRegistration: CompleteMailRegistration
  newUsers: NewUsers
  usernames: Usernames
  profileFields: ProfileFields
  termsOfUse: TermsOfUse | undefined
  signIns: SignIns
  events: Events
}

/** Creates the account of an address that was proven by a mail. The account has no password. */
export const createMailRegistration = (deps: MailRegistrationDependencies) => {
  const { mailSignIns, completeMailRegistration, newUsers, usernames, profileFields, termsOfUse, signIns, events } =
    deps

  return {
    /** Describes the registration for the form, in the browser that has proven the address. */
    describe: async (browserToken: string): Promise<MailRegistration | undefined> => {
      const email = await mailSignIns.findProven(browserToken)
      if (!email) return undefined
      const { username } = await newUsers.freeUsername(usernameFromEmail(email).username)
      const fields = profileFields.definitions.filter(({ registration }) => registration)
      return { email: email.email, username, fields, ...(termsOfUse && { terms: termsOfUse }) }
    },

    /** `findExcess` counts a new account. */
    complete: async (browserToken: string, form: RegistrationForm, visit: Visit, findExcess: FindExcess) => {
      const email = await mailSignIns.findProven(browserToken)
      if (!email) return refuse('challenge_over')
      const username = form.username === undefined ? undefined : readChosenUsername(form.username)
      if (isRefused(username)) return username
      if (form.terms !== undefined && form.terms !== termsOfUse?.version) return refuse('terms_changed')
      const fields = profileFields.initialValues(form.fields)
      if (isRefused(fields)) return fields
      if (username && !(await usernames.mayBeChosen(username))) return refuse('username_taken')
      const excess = await findExcess(email)
      if (excess) return refuse('too_many_requests', { excess })
      const account = { email, name: displayName(form.name), language: visit.client.language, fields }
      const completeAs = (name: Username) =>
        completeMailRegistration(browserToken, { ...account, username: name }, form.terms)
      const completed = username
        ? await completeAs(username)
        : await newUsers.withFreeUsername(
            email,
            completeAs,
            (outcome) => isRefused(outcome) && outcome.refused === 'username_taken',
          )
      if (isRefused(completed)) return completed
      const { user, usedInvitation } = completed
      if (usedInvitation) await events.record({ kind: 'invitation_used', userId: user.id }, visit.client)
      return (await signIns.byMail(user, { isNew: true }, visit)) ?? refuse('challenge_over')
    },
  }
}

const describeRefusals = routeRefusals('challenge_over', 'too_many_requests', 'unavailable')
const registerRefusals = routeRefusals(
  'bad_request',
  'username_length',
  'username_at_sign',
  'username_characters',
  'username_edges',
  'username_alphabets',
  'challenge_over',
  'registration_closed',
  'invitation_required',
  'email_domain_not_allowed',
  'cross_site',
  'already_registered',
  'username_taken',
  'invalid_fields',
  'terms_changed',
  'too_many_requests',
  'unavailable',
)
const mailRegistrationSchemas = {
  describe: {
    tags,
    summary: 'What the registration of this browser asks for, after its address was proven by the mail',
    response: { 200: MailRegistration, ...describeRefusals.responses },
  },
  register: {
    tags,
    summary: 'Make the account of an address that was proven by the mail, and sign in',
    body: Type.Object({
      username: Type.Optional(TypedUsername),
      name: Type.Optional(Type.String({ maxLength: longestName })),
      fields: Type.Optional(ProfileFieldChanges),
      terms: Type.Optional(Type.String({ maxLength: 64, description: 'The version that the user agrees to' })),
    }),
    response: {
      200: withHeaders(SignedIn, { 'Set-Cookie': 'access_token and refresh_token; clears attempt_mail' }),
      202: withHeaders(SecondFactorNeeded, { 'Set-Cookie': 'challenge, for POST /api/auth/second-factor' }),
      ...registerRefusals.responses,
    },
  },
}

type MailRegistrationRouteDependencies = {
  mailRegistration: ReturnType<typeof createMailRegistration>
  usernameSource: UsernameSource
  limits: Limits
  ceilings: Ceilings
  cookies: Cookies
  signInCookies: SignInCookies
}

/** The registration of an address that has no account yet. */
export const mailRegistrationRoutes = (server: Server, deps: MailRegistrationRouteDependencies) => {
  const { mailRegistration, usernameSource, cookies, signInCookies, limits, ceilings } = deps
  const registerSchema = {
    ...mailRegistrationSchemas.register,
    body: withRequiredUsername(mailRegistrationSchemas.register.body, usernameSource),
  }
  const onRequest = limits.byNetwork
  server.get(
    `${path}/registration`,
    { schema: mailRegistrationSchemas.describe, onRequest },
    async (request, reply) => {
      const description = await mailRegistration.describe(cookies.read(request, 'attempt_mail') ?? '')
      return description ? reply.send(description) : describeRefusals.sendRefusal(reply, refuse('challenge_over'))
    },
  )

  const config = { countsIn: ['total_registrations'] as const }
  server.post(`${path}/registration`, { schema: registerSchema, onRequest, config }, async (request, reply) => {
    const browserToken = cookies.read(request, 'attempt_mail') ?? ''
    const findExcess = (email: Email) => ceilings.findExcessOfProven(email, request)
    const visit = signInCookies.visitOf(request)
    const outcome = await mailRegistration.complete(browserToken, request.body, visit, findExcess)
    if (isRefused(outcome))
      return outcome.refused === 'too_many_requests'
        ? ceilings.answerExcess(reply, 'total_registrations', outcome.excess)
        : registerRefusals.sendRefusal(reply, outcome)
    cookies.clear(reply, 'attempt_mail')
    return sendSignInStep(reply, { cookies, signInCookies }, outcome)
  })
}
