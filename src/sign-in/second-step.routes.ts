import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { NextStep, OpenQuestion } from '../contract/factors.js'
import { isRefused, refuse } from '../contract/outcome.js'
import { ProfileFieldChanges } from '../contract/profile-fields.js'
import { Accepted, SecondFactorNeeded, SecondFactorWaiting, SignedIn, TypedPassword } from '../contract/schemas.js'
import { countingFactors } from '../contract/second-factors.js'
import { allowsTrustedDevice } from '../factors/second-factors.js'
import { clientOf } from '../http/request-origin.js'
import { route, withHeaders } from '../http/route.js'
import type { Server } from '../http/server.js'
import type { App } from '../service/open-http.js'
import { atChallenge, sendContinuedSignIn, withChallenge } from './answers.js'
import type { Answers } from './open-questions.js'
import type { PendingSignIn } from './pending-sign-ins.js'

type NextQuestion = Partial<Omit<SecondFactorWaiting, 'next' | 'expiresAt'>>
const nothingAsked = {
  methods: [],
  mailedCodeRequired: false,
  linkRequired: false,
  passwordRequired: false,
  trustDevice: false,
  trustedFor: null,
}

/** What the sign-in is asked next, for the browser. */
const nextQuestions: Record<NextStep, (app: App, pending: PendingSignIn) => Promise<NextQuestion>> = {
  second_factor: async ({ factors, trustedDevices }, { userId }) => {
    const methods = await factors.heldBy(userId)
    const trustDevice = allowsTrustedDevice(methods) && trustedDevices.areOffered
    return { methods, trustDevice, trustedFor: trustDevice ? trustedDevices.trustedFor : null }
  },
  enrolment: async ({ enrolments }, pending) => {
    const missing = await enrolments.missingProofOf(pending)
    return {
      methods: [...countingFactors],
      mailedCodeRequired: missing === 'mailed code',
      linkRequired: missing === 'link',
      passwordRequired: missing === 'password',
    }
  },
  profile: async ({ signIns }, { userId }) => ({ fields: [...(await signIns.fieldsOf(userId))] }),
  terms: async ({ termsOfUse }) => (termsOfUse ? { terms: termsOfUse } : {}),
}

const openEnrolment = async (app: App, request: FastifyRequest, reply: FastifyReply, mailedCode: string) => {
  const opened = await withChallenge(app, reply, (token) =>
    app.enrolments.enterMailedCode(token, mailedCode, clientOf(request)),
  )
  if (isRefused(opened)) return opened
  return reply.status(202).send({ next: 'enrolment', methods: countingFactors })
}

/** Takes missing fields, or the agreement to the terms. */
const answerQuestion = async <Question extends OpenQuestion>(
  app: App,
  request: FastifyRequest,
  reply: FastifyReply,
  question: Question,
  answer: Answers[Question],
) => {
  const browser = app.signInCookies.browserOf(request)
  const outcome = await withChallenge(app, reply, (token) => app.signIns.byAnswer(token, question, answer, browser))
  return isRefused(outcome) ? outcome : sendContinuedSignIn(reply, app, outcome)
}

const enterCode = async (
  app: App,
  request: FastifyRequest,
  reply: FastifyReply,
  { code, trustDevice = false }: { code: string; trustDevice?: boolean | undefined },
) => {
  const browser = app.signInCookies.browserOf(request)
  const finished = await withChallenge(app, reply, (token) =>
    app.signIns.bySecondFactor({ token, code, trustDevice }, browser),
  )
  if (isRefused(finished)) return finished
  if (finished.trustedDevices !== undefined) app.signInCookies.setTrustedDevices(reply, finished.trustedDevices)
  return sendContinuedSignIn(reply, app, finished.outcome)
}

const path = '/api/auth/second-factor'

export const secondFactorRoutes = (server: Server, app: App) => {
  const { pendingSignIns, limits } = app

  route(server, `GET ${path}`, {
    guard: [limits.byNetwork],
    tag: 'sign in',
    summary: 'What the sign-in of this browser still needs',
    ...atChallenge,
    refuses: ['challenge_over'],
    answers: { 200: SecondFactorWaiting },
    handle: async ({ reply }) => {
      const pending = await withChallenge(
        app,
        reply,
        async (token) => (await pendingSignIns.find(token)) ?? refuse('challenge_over'),
      )
      if (isRefused(pending)) return pending
      const { kind: next, expiresAt } = pending
      const question = await nextQuestions[next](app, pending)
      return { next, expiresAt: expiresAt.toISOString(), ...nothingAsked, ...question }
    },
  })

  route(server, `POST ${path}`, {
    guard: [limits.byNetwork],
    tag: 'sign in',
    summary:
      'Finish a sign-in with a code of the authenticator app or a recovery code, or open its enrolment with a mailed code',
    ...atChallenge,
    description: `Needs the challenge cookie. Takes one of \`code\`, \`mailedCode\`, \`fields\` (after \`next: "profile"\`) and \`terms\` (after \`next: "terms"\`). After a mailed code a second factor can be added, which finishes the sign-in.`,
    body: Type.Object({
      code: Type.Optional(Type.String({ minLength: 1, maxLength: 64, description: 'Spaces and hyphens are ignored' })),
      mailedCode: Type.Optional(
        Type.String({ minLength: 1, maxLength: 32, description: 'The code of the mail, after `next: "enrolment"`' }),
      ),
      fields: Type.Optional(ProfileFieldChanges),
      terms: Type.Optional(Type.String({ maxLength: 64, description: 'The version that the user agrees to' })),
      trustDevice: Type.Optional(
        Type.Boolean({
          description: 'Ask for no code in this browser for a while. Ignored if `code` is a recovery code',
        }),
      ),
    }),
    refuses: [
      'bad_request',
      'wrong_second_factor',
      'wrong_mailed_code',
      'mailed_code_void',
      'mailed_code_required',
      'link_required',
      'current_password_required',
      'enrolment_open',
      'no_totp_begun',
      'challenge_over',
      'not_enrolling',
      'invalid_fields',
      'terms_changed',
      'other_step',
      'cross_site',
    ],
    answers: {
      200: withHeaders(SignedIn, {
        'Set-Cookie': 'access_token and refresh_token; trusted_device if it was asked for',
      }),
      202: withHeaders(SecondFactorNeeded, { 'Set-Cookie': 'challenge, for the next step' }),
    },
    config: { countsIn: ['device_codes'] },
    handle: async ({ body: { code, mailedCode, fields, terms: version, trustDevice }, request, reply }) => {
      if ([code, mailedCode, fields, version].filter((each) => each !== undefined).length !== 1)
        return refuse('bad_request', { message: 'Send code, mailedCode, fields or terms' })
      if (mailedCode !== undefined) return openEnrolment(app, request, reply, mailedCode)
      if (fields) return answerQuestion(app, request, reply, 'profile', fields)
      if (version !== undefined) return answerQuestion(app, request, reply, 'terms', version)
      if (code === undefined) throw new Error('The check above lets through exactly one of the four')
      return enterCode(app, request, reply, { code, trustDevice })
    },
  })
}

export const enrolmentCodeRoutes = (server: Server, app: App) =>
  route(server, `POST ${path}/mail`, {
    guard: [app.needsMail, app.limits.byNetwork],
    tag: 'sign in',
    summary: 'Mail the code that a sign-in needs before its user can add a first second factor',
    ...atChallenge,
    refuses: [
      'challenge_over',
      'current_password_required',
      'link_required',
      'mail_is_off',
      'enrolment_open',
      'not_enrolling',
      'cross_site',
    ],
    answers: { 202: Accepted },
    config: { countsIn: ['mailed_codes'] },
    handle: async ({ request, reply }) => {
      const { enrolments, mailLimits } = app
      const enrolment = await withChallenge(app, reply, enrolments.findToMail)
      if (isRefused(enrolment)) return enrolment
      const limited = await mailLimits.countMailedCode(enrolment.user.id, request, reply)
      if (limited) return reply
      await enrolments.mailCode(enrolment, clientOf(request))
      return { message: 'A mail is on its way' }
    },
  })

export const enrolmentPasswordRoutes = (server: Server, app: App) => {
  const { enrolments, users, passwords, signInCookies, passwordGuesses, limits } = app

  /** A guess of the password counts like a sign-in, also in the limit for guesses from many networks. */
  const countPassword = async (request: FastifyRequest, reply: FastifyReply) => {
    const token = signInCookies.challengeOf(request)
    const pending = token === undefined ? undefined : await enrolments.find(token)
    const user = pending && !isRefused(pending) ? await users.findById(pending.userId) : undefined
    return user ? passwordGuesses.byUser(user, user.username, request, reply) : limits.login(request, reply)
  }

  route(server, `POST ${path}/password`, {
    guard: [app.needsMailSignIn],
    tag: 'sign in',
    summary: 'After a sign-in by mail: give the password of the account, so that its first second factor can be added',
    ...atChallenge,
    body: Type.Object({ password: TypedPassword }),
    refuses: [
      'bad_request',
      'wrong_current_password',
      'challenge_over',
      'mailed_code_required',
      'link_required',
      'enrolment_open',
      'not_enrolling',
      'cross_site',
      'too_many_logins',
      'busy',
      'unavailable',
    ],
    answers: { 202: SecondFactorNeeded },
    config: { countsIn: ['login', 'account'] },
    preHandler: countPassword,
    onSend: app.countedRequests.refundSuccess,
    handle: async ({ body, request, reply }) => {
      const client = clientOf(request)
      const verify = (hash: string) => passwords.verify(body.password, hash, client)
      const opened = await withChallenge(app, reply, (token) => enrolments.enterPassword(token, verify, client))
      return isRefused(opened) ? opened : { next: 'enrolment' as const, methods: [...countingFactors] }
    },
  })
}
