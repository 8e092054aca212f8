import type { FastifyReply } from 'fastify'
import type { SignInLabel } from '../contract/factors.js'
import { isRefused, type Refused, refuse } from '../contract/outcome.js'
import type { Cookies } from '../http/cookies.js'
import type { Client } from '../http/request-origin.js'
import { minResponseTime, takeAtLeast } from '../lib/timing.js'
import type { MessagesRoom } from '../messages/open-messages.js'
import type { BoundSessions } from '../sessions/bound-sessions.js'
import { offerBinding, type SignInCookies, sendUser } from '../sessions/session-cookies.js'
import type { NewSession, SignInOutcome } from './new-sessions.js'

type AnswerCookies = { cookies: Cookies; signInCookies: SignInCookies; boundSessions: Pick<BoundSessions, 'offer'> }

/** `extra`: further properties of the answer. */
const sendSignedIn = (
  reply: FastifyReply,
  { cookies, boundSessions }: AnswerCookies,
  session: NewSession,
  extra?: object,
) => {
  cookies.setNewSession(reply, session)
  offerBinding(reply, boundSessions.offer(session.sessionId))
  return sendUser(reply, session, extra)
}

/**
 * Answers a proof: the user is signed in, or is told the next step. If the request has also added a factor, the answer describes it, and a
 * next step keeps the status of a success.
 */
export const sendSignInStep = (
  reply: FastifyReply,
  parts: AnswerCookies,
  outcome: SignInOutcome,
  addedFactor?: object,
) => {
  if ('issued' in outcome) return sendSignedIn(reply, parts, outcome.issued, addedFactor)
  parts.signInCookies.setChallenge(reply, outcome.pending)
  const { next, methods } = outcome
  return addedFactor ? reply.send({ next, ...addedFactor }) : reply.status(202).send({ next, methods })
}

/** Answers a further proof of a sign-in that has waited. Its cookie is cleared, or replaced by that of the next step. */
export const sendContinuedSignIn = (
  reply: FastifyReply,
  parts: AnswerCookies,
  outcome: SignInOutcome,
  addedFactor?: object,
) => {
  if ('issued' in outcome) parts.signInCookies.clearChallenge(reply)
  return sendSignInStep(reply, parts, outcome, addedFactor)
}

/** For every route of a sign-in that waits, in the API document. */
export const atChallenge = {
  security: [{ challenge: [] }] as Record<string, string[]>[],
  refusalHeaders: { 401: { 'Set-Cookie': 'Clears challenge, if the sign-in is over' } },
}

/** Works with the token of the sign-in that waits in this browser. If the sign-in is over, the browser forgets it. */
export const withChallenge = async <Outcome>(
  { signInCookies }: { signInCookies: SignInCookies },
  reply: FastifyReply,
  work: (token: string) => Promise<Outcome>,
): Promise<Outcome | Refused<'challenge_over'>> => {
  const token = signInCookies.challengeOf(reply.request)
  const outcome = token === undefined ? refuse('challenge_over') : await work(token)
  if (isRefused(outcome)) signInCookies.clearChallengeIfOver(reply, outcome)
  return outcome
}

type FailedSignIn = { triedBy: SignInLabel; reason: string; userId: string | undefined }

/** An event of a known user takes the database longer than one without a user. The answer waits long enough to hide this. */
export const noteFailedSignIn = async (
  { events }: MessagesRoom,
  client: Client,
  { triedBy, reason, userId }: FailedSignIn,
) => {
  const failed = { kind: 'sign_in_failed', triedBy, reason, ...(userId !== undefined && { userId }) } as const
  await takeAtLeast(minResponseTime, events.record(failed, client))
}
