import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { enrolmentMethods } from '../contract/factors.js'
import { isRefused, refuse } from '../contract/outcome.js'
import { SecondFactorNeeded, TypedPassword } from '../contract/schemas.js'
import type { CountedRequests } from '../http/limits.js'
import { clientOf } from '../http/request-origin.js'
import { routeRefusals } from '../http/route.js'
import type { Server } from '../http/server.js'

import type { Passwords } from '../passwords/passwords.js'
import type { Limits } from '../sessions/guards.js'
import type { SignInCookies } from '../sessions/session-cookies.js'

import type { Users } from '../users/users.js'
import { clearsChallenge, needsChallenge } from './challenge-document.js'
import type { Enrolments } from './enrolments.js'
import type { PasswordGuesses } from './password-guesses.js'
import { withCookies } from './responses.js'

const refusals = routeRefusals(
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

const schema = {
  tags: ['sign in'],
  summary: 'After a sign-in by mail: give the password of the account, so that its first second factor can be added',
  ...needsChallenge,
  body: Type.Object({ password: TypedPassword }),
  response: { 202: SecondFactorNeeded, ...withCookies(refusals.responses, clearsChallenge) },
}

type Dependencies = {
  enrolments: Enrolments
  users: Pick<Users, 'findById'>
  passwords: Pick<Passwords, 'verify'>
  signInCookies: SignInCookies
  limits: Limits
  passwordGuesses: PasswordGuesses
  countedRequests: CountedRequests
}

export const enrolmentPasswordRoutes = (server: Server, deps: Dependencies) => {
  const { enrolments, users, passwords, signInCookies, limits, passwordGuesses, countedRequests } = deps

  /** A guess of the password counts like a sign-in, also in the limit for guesses from many networks. */
  const countPassword = async (request: FastifyRequest, reply: FastifyReply) => {
    const token = signInCookies.challengeOf(request)
    const challenge = token === undefined ? undefined : await enrolments.find(token)
    const user = challenge && !isRefused(challenge) ? await users.findById(challenge.userId) : undefined
    return user ? passwordGuesses.byUser(user, user.username, request, reply) : limits.login(request, reply)
  }

  const passwordOptions = {
    schema,
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
    if (isRefused(opened)) return refusals.sendRefusal(signInCookies.clearChallengeIfOver(reply, opened), opened)
    return reply.status(202).send({ next: 'enrolment', methods: [...enrolmentMethods] })
  })
}
