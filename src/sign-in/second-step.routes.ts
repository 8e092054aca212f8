import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { enrolmentMethods, type LastStep, type NextStep } from '../contract/factors.js'
import { isRefused, refuse } from '../contract/outcome.js'
import { ProfileFieldChanges } from '../contract/profile-fields.js'
import {
  Accepted,
  SecondFactorNeeded,
  SecondFactorWaiting,
  SignedIn,
  type TermsOfUse,
  TypedPassword,
} from '../contract/schemas.js'
import type { TrustedDevices } from '../factors/trusted-devices.js'
import type { Cookies } from '../http/cookies.js'
import type { CountedRequests } from '../http/limits.js'
import { clientOf } from '../http/request-origin.js'
import type { NeedsMail } from '../http/route.js'
import { routeRefusals, withCookies, withHeaders } from '../http/route.js'
import type { Server } from '../http/server.js'
import type { Passwords } from '../passwords/passwords.js'
import type { Limits } from '../sessions/guards.js'
import type { SignInCookies } from '../sessions/session-cookies.js'
import type { Users } from '../users/users.js'
import { sendContinuedSignIn } from './answers.js'
import type { Enrolments } from './enrolments.js'
import type { MailLimits, PasswordGuesses } from './guess-limits.js'
import type { LastAnswer, LastAnswers } from './open-questions.js'
import type { Challenge } from './pending-sign-ins.js'
import type { SignIns } from './sign-ins.js'

type NextQuestionDependencies = {
  signIns: SignIns
  enrolments: Enrolments
  lastAnswers: LastAnswers
  termsOfUse: TermsOfUse | undefined
  trustedDevices: TrustedDevices
}

type NextQuestion = Partial<Omit<SecondFactorWaiting, 'next' | 'expiresAt'>>
const nothingAsked = {
  methods: [],
  mailedCodeRequired: false,
  linkRequired: false,
  passwordRequired: false,
  trustDevice: false,
  trustedFor: null,
}

/** Describes the next question of a sign-in that waits, for the browser. */
const createNextQuestion = ({
  signIns,
  enrolments,
  lastAnswers,
  termsOfUse,
  trustedDevices,
}: NextQuestionDependencies) => {
  const steps: Record<NextStep, (challenge: Challenge) => Promise<NextQuestion>> = {
    second_factor: async ({ userId }) => {
      const methods = await signIns.methodsOf(userId)
      const trustDevice = methods.includes('totp') && trustedDevices.areOffered
      return { methods, trustDevice, trustedFor: trustDevice ? trustedDevices.trustedFor : null }
    },
    enrolment: async (challenge) => {
      const missing = await enrolments.missingProofOf(challenge)
      return {
        methods: [...enrolmentMethods],
        mailedCodeRequired: missing === 'mailed code',
        linkRequired: missing === 'link',
        passwordRequired: missing === 'password',
      }
    },
    profile: async ({ userId }) => ({ fields: [...(await lastAnswers.fieldsOf(userId))] }),
    terms: async () => (termsOfUse ? { terms: termsOfUse } : {}),
  }

  return async (challenge: Challenge): Promise<SecondFactorWaiting> => {
    const { kind: next, expiresAt } = challenge
    return { next, expiresAt: expiresAt.toISOString(), ...nothingAsked, ...(await steps[next](challenge)) }
  }
}

/** Parts of the API document for every route of a sign-in that waits for its second step. */
export const clearsChallenge = { 401: 'Clears challenge, if the sign-in is over' }
export const needsChallenge = { security: [{ challenge: [] }] }

const stateRefusals = routeRefusals('challenge_over', 'too_many_requests', 'unavailable')
const { responses, sendRefusal } = routeRefusals(
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
  'too_many_requests',
  'unavailable',
)

const stateSchema = {
  tags: ['sign in'],
  summary: 'What the sign-in of this browser still needs',
  ...needsChallenge,
  response: { 200: SecondFactorWaiting, ...withCookies(stateRefusals.responses, clearsChallenge) },
}
const secondFactorSchema = {
  tags: ['sign in'],
  summary:
    'Finish a sign-in with a code of the authenticator app or a recovery code, or open its enrolment with a mailed code',
  ...needsChallenge,
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
  response: {
    200: withHeaders(SignedIn, { 'Set-Cookie': 'access_token and refresh_token; trusted_device if it was asked for' }),
    202: withHeaders(SecondFactorNeeded, { 'Set-Cookie': 'challenge, for the next step' }),
    ...withCookies(responses, clearsChallenge),
  },
}

type SecondFactorRouteDependencies = {
  signIns: SignIns
  enrolments: Enrolments
  lastAnswers: LastAnswers
  termsOfUse: TermsOfUse | undefined
  trustedDevices: TrustedDevices
  signInCookies: SignInCookies
  cookies: Cookies
  limits: Limits
}

/** Handles a mailed code, missing fields and the terms: everything but the code of a second factor. */
const createAnswers = ({ enrolments, lastAnswers, signInCookies, cookies }: SecondFactorRouteDependencies) => {
  const openEnrolment = async (request: FastifyRequest, reply: FastifyReply, mailedCode: string) => {
    const token = signInCookies.challengeOf(request)
    const client = clientOf(request)
    const opened =
      token === undefined ? refuse('challenge_over') : await enrolments.enterMailedCode(token, mailedCode, client)
    if (isRefused(opened)) return sendRefusal(signInCookies.clearChallengeIfOver(reply, opened), opened)
    return reply.status(202).send({ next: 'enrolment', methods: enrolmentMethods })
  }

  /** Handles the answers to the last steps: missing fields and the terms. */
  const answerLast = async <Step extends LastStep>(
    request: FastifyRequest,
    reply: FastifyReply,
    step: Step,
    answer: LastAnswer[Step],
  ) => {
    const token = signInCookies.challengeOf(request)
    const visit = signInCookies.visitOf(request)
    const outcome =
      token === undefined ? refuse('challenge_over') : await lastAnswers.answer(token, step, answer, visit)
    if (isRefused(outcome)) return sendRefusal(signInCookies.clearChallengeIfOver(reply, outcome), outcome)
    return sendContinuedSignIn(reply, { cookies, signInCookies }, outcome)
  }

  return { openEnrolment, answerLast }
}

export const secondFactorRoutes = (server: Server, deps: SecondFactorRouteDependencies) => {
  const { signIns, signInCookies, cookies, limits } = deps
  const nextQuestion = createNextQuestion(deps)
  const path = '/api/auth/second-factor'
  const onRequest = limits.byNetwork

  server.get(path, { schema: stateSchema, onRequest }, async (request, reply) => {
    const token = signInCookies.challengeOf(request)
    const challenge = token === undefined ? undefined : await signIns.findChallenge(token)
    if (!challenge) {
      signInCookies.clearChallenge(reply)
      return stateRefusals.sendRefusal(reply, refuse('challenge_over'))
    }
    return reply.send(await nextQuestion(challenge))
  })

  const { openEnrolment, answerLast } = createAnswers(deps)
  server.post(
    path,
    { schema: secondFactorSchema, onRequest, config: { countsIn: ['device_codes'] } },
    async (request, reply) => {
      const token = signInCookies.challengeOf(request)
      const { code, mailedCode, fields, terms: version, trustDevice = false } = request.body
      if ([code, mailedCode, fields, version].filter((each) => each !== undefined).length !== 1)
        return sendRefusal(reply, refuse('bad_request', { message: 'Send code, mailedCode, fields or terms' }))
      if (mailedCode !== undefined) return openEnrolment(request, reply, mailedCode)
      if (fields) return answerLast(request, reply, 'profile', fields)
      if (version !== undefined) return answerLast(request, reply, 'terms', version)
      if (code === undefined) throw new Error('The check above lets through exactly one of the four')
      const finished =
        token === undefined
          ? refuse('challenge_over')
          : await signIns.bySecondFactor({ token, code, trustDevice }, signInCookies.visitOf(request))
      if (isRefused(finished)) {
        if (finished.refused !== 'too_many_codes')
          return sendRefusal(signInCookies.clearChallengeIfOver(reply, finished), finished)
        const { retryAfter } = finished
        return sendRefusal(reply, refuse('too_many_requests', { retryAfter }))
      }
      if (finished.trustedDevices !== undefined) signInCookies.setTrustedDevices(reply, finished.trustedDevices)
      return sendContinuedSignIn(reply, { cookies, signInCookies }, finished.outcome)
    },
  )
}

const enrolmentCodeRefusals = routeRefusals(
  'challenge_over',
  'current_password_required',
  'link_required',
  'mail_is_off',
  'enrolment_open',
  'not_enrolling',
  'cross_site',
  'too_many_requests',
  'unavailable',
)

const enrolmentCodeSchema = {
  tags: ['sign in'],
  summary: 'Mail the code that a sign-in needs before its user can add a first second factor',
  ...needsChallenge,
  response: { 202: Accepted, ...withCookies(enrolmentCodeRefusals.responses, clearsChallenge) },
}

type EnrolmentCodeRouteDependencies = {
  enrolments: Enrolments
  signInCookies: SignInCookies
  limits: Limits
  needsMail: NeedsMail
  mailLimits: MailLimits
}

export const enrolmentCodeRoutes = (server: Server, deps: EnrolmentCodeRouteDependencies) => {
  const { enrolments, signInCookies, limits, needsMail, mailLimits } = deps
  const mailOptions = {
    schema: enrolmentCodeSchema,
    onRequest: [needsMail, limits.byNetwork],
    config: { countsIn: ['mailed_codes'] as const },
  }
  server.post('/api/auth/second-factor/mail', mailOptions, async (request, reply) => {
    const token = signInCookies.challengeOf(request)
    const enrolment = token === undefined ? refuse('challenge_over') : await enrolments.findToMail(token)
    if (isRefused(enrolment))
      return enrolmentCodeRefusals.sendRefusal(signInCookies.clearChallengeIfOver(reply, enrolment), enrolment)
    const limited = await mailLimits.countMailedCode(enrolment.user.id, request, reply)
    if (limited) return reply
    await enrolments.mailCode(enrolment, clientOf(request))
    return reply.status(202).send({ message: 'A mail is on its way' })
  })
}

const enrolmentPasswordRefusals = routeRefusals(
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
)

const enrolmentPasswordSchema = {
  tags: ['sign in'],
  summary: 'After a sign-in by mail: give the password of the account, so that its first second factor can be added',
  ...needsChallenge,
  body: Type.Object({ password: TypedPassword }),
  response: { 202: SecondFactorNeeded, ...withCookies(enrolmentPasswordRefusals.responses, clearsChallenge) },
}

type EnrolmentPasswordRouteDependencies = {
  enrolments: Enrolments
  users: Users
  passwords: Passwords
  signInCookies: SignInCookies
  limits: Limits
  passwordGuesses: PasswordGuesses
  countedRequests: CountedRequests
}

export const enrolmentPasswordRoutes = (server: Server, deps: EnrolmentPasswordRouteDependencies) => {
  const { enrolments, users, passwords, signInCookies, limits, passwordGuesses, countedRequests } = deps

  /** A guess of the password counts like a sign-in, also in the limit for guesses from many networks. */
  const countPassword = async (request: FastifyRequest, reply: FastifyReply) => {
    const token = signInCookies.challengeOf(request)
    const challenge = token === undefined ? undefined : await enrolments.find(token)
    const user = challenge && !isRefused(challenge) ? await users.findById(challenge.userId) : undefined
    return user ? passwordGuesses.byUser(user, user.username, request, reply) : limits.login(request, reply)
  }

  const passwordOptions = {
    schema: enrolmentPasswordSchema,
    preHandler: countPassword,
    onSend: countedRequests.refundSuccess,
    config: { countsIn: ['login', 'account'] as const },
  }
  server.post('/api/auth/second-factor/password', passwordOptions, async (request, reply) => {
    const token = signInCookies.challengeOf(request)
    const client = clientOf(request)
    const verify = (hash: string) => passwords.verify(request.body.password, hash, client)
    const opened =
      token === undefined ? refuse('challenge_over') : await enrolments.enterPassword(token, verify, client)
    if (isRefused(opened))
      return enrolmentPasswordRefusals.sendRefusal(signInCookies.clearChallengeIfOver(reply, opened), opened)
    return reply.status(202).send({ next: 'enrolment', methods: [...enrolmentMethods] })
  })
}
