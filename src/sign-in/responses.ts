import type { FastifyReply } from 'fastify'
import type { Cookies } from '../http/cookies.js'
import type { SignInCookies } from '../sessions/session-cookies.js'
import type { IssuedTokens } from '../sessions/sessions.js'

import type { NewSession } from './new-sessions.js'
import type { SignInOutcome } from './sign-ins.js'

const send = (reply: FastifyReply, { user, accessTokenExpiresAt }: IssuedTokens, extra?: object) =>
  reply.send({ user, accessTokenExpiresAt: accessTokenExpiresAt.toISOString(), ...extra })

/** `extra`: further properties of the answer. */
const sendSignedIn = (reply: FastifyReply, cookies: Cookies, session: NewSession, extra?: object) => {
  cookies.setNewSession(reply, session)
  return send(reply, session, extra)
}

/**
 * Answers a proof: the user is signed in, or is told the next step. If the request has also added a factor, the answer describes it, and a
 * next step keeps the status of a success.
 */
export const sendSignInStep = (
  reply: FastifyReply,
  { cookies, signInCookies }: { cookies: Cookies; signInCookies: SignInCookies },
  outcome: SignInOutcome,
  addedFactor?: object,
) => {
  if ('issued' in outcome) return sendSignedIn(reply, cookies, outcome.issued, addedFactor)
  signInCookies.setChallenge(reply, outcome.challenge)
  const { next, methods } = outcome
  return addedFactor ? reply.send({ next, ...addedFactor }) : reply.status(202).send({ next, methods })
}

/** Answers a further proof of a sign-in that has waited. Its cookie is cleared, or replaced by that of the next step. */
export const sendContinuedSignIn = (
  reply: FastifyReply,
  parts: { cookies: Cookies; signInCookies: SignInCookies },
  outcome: SignInOutcome,
  addedFactor?: object,
) => {
  if ('issued' in outcome) parts.signInCookies.clearChallenge(reply)
  return sendSignInStep(reply, parts, outcome, addedFactor)
}

/** Sends the new tokens in cookies, and the user and the time at which the access token expires in the body. */
export const sendRenewed = (reply: FastifyReply, cookies: Cookies, issued: IssuedTokens) => {
  cookies.renewSession(reply, issued)
  return send(reply, issued)
}

/** Sends the new tokens in cookies, without a body. There are none if another request has just ended the session. */
export const sendTokensOnly = (reply: FastifyReply, cookies: Cookies, issued: IssuedTokens | undefined) => {
  if (issued) cookies.renewSession(reply, issued)
  return reply.status(204).send()
}

/**
 * Forgets a session that has ended, in the browser: its cookies, and what the browser's cache has of this host. On one host with an
 * application, `"cookies"` and `"storage"` would take more than the sign-out is about.
 */
export const forgetInBrowser = (reply: FastifyReply, cookies: Pick<Cookies, 'clearSession'>) => {
  cookies.clearSession(reply)
  reply.header('clear-site-data', '"cache"')
}
/** For the API document, beside `Set-Cookie`. */
export const cacheHeader = { 'Clear-Site-Data': '`"cache"` if a session has ended' }

/** Adds headers to a response schema, for the API document. `headers`: the description of each, by its name. */
export const withHeaders = <Schema extends object>(
  schema: Schema,
  headers: Readonly<Record<string, string>>,
): Schema => {
  const described = Object.entries(headers).map(([name, description]) => [name, { type: 'string', description }])
  return { ...schema, headers: Object.fromEntries(described) }
}

/** Adds to the responses which cookies they set or clear, by their status. */
export const withCookies = <Responses extends object>(
  responses: Responses,
  cookies: Readonly<{ [Status in keyof Responses]?: string }>,
): Responses => ({
  ...responses,
  ...Object.fromEntries(
    Object.entries<object>(responses as Record<string, object>)
      .filter(([status]) => status in cookies)
      .map(([status, schema]) => [
        status,
        withHeaders(schema, { 'Set-Cookie': String(cookies[status as unknown as keyof Responses]) }),
      ]),
  ),
})
