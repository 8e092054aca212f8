import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { enrolmentMethods, type LastStep } from '../contract/factors.js'
import { isRefused, refuse } from '../contract/outcome.js'
import { ProfileFieldChanges } from '../contract/profile-fields.js'
import { SecondFactorNeeded, SecondFactorWaiting, SignedIn, type TermsOfUse } from '../contract/schemas.js'

import type { TrustedDevices } from '../factors/trusted-devices.js'
import type { Cookies } from '../http/cookies.js'
import { clientOf } from '../http/request-origin.js'
import { routeRefusals } from '../http/route.js'
import type { Server } from '../http/server.js'

import type { Limits } from '../sessions/guards.js'
import type { SignInCookies } from '../sessions/session-cookies.js'

import { clearsChallenge, needsChallenge } from './challenge-document.js'
import type { Enrolments } from './enrolments.js'
import type { LastAnswers } from './last-answers.js'
import type { LastAnswer } from './last-steps.js'
import { createNextQuestion } from './next-question.js'
import { sendContinuedSignIn, withCookies, withHeaders } from './responses.js'
import type { SignIns } from './sign-ins.js'

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
const schema = {
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

type Dependencies = {
  signIns: SignIns
  enrolments: Enrolments
  lastAnswers: LastAnswers
  termsOfUse: TermsOfUse | undefined
  trustedDevices: Pick<TrustedDevices, 'areOffered' | 'trustedFor'>
  signInCookies: SignInCookies
  cookies: Cookies
  limits: Limits
}

/** Handles a mailed code, missing fields and the terms: everything but the code of a second factor. */
const createAnswers = ({ enrolments, lastAnswers, signInCookies, cookies }: Dependencies) => {
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

export const secondFactorRoutes = (server: Server, deps: Dependencies) => {
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
  server.post(path, { schema, onRequest, config: { countsIn: ['device_codes'] } }, async (request, reply) => {
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
  })
}
