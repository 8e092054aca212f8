import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Refused } from '../contract/outcome.js'
import { maxAccounts } from '../http/cookie-table.js'
import { type Cookies, chosenLanguage } from '../http/cookies.js'
import { clientOf, languageOf } from '../http/request-origin.js'
import { seconds } from '../lib/durations.js'
import type { Callers } from './callers.js'
import { type Browser, type ChosenFacts, factsAtStart, type Visit } from './session-facts.js'
import type { IssuedTokens } from './sessions.js'

const tokenShape = /^[\w-]{43}$/

/** Whether another site sent the browser here: then it withholds `SameSite=Strict` cookies. */
export const comesFromAnotherSite = ({ headers }: FastifyRequest) => headers['sec-fetch-site'] === 'cross-site'

export type SignInCookies = ReturnType<typeof createSignInCookies>

/** The cookies of a sign-in: what a browser keeps between its two steps, and what makes it known or trusted afterwards. */
export const createSignInCookies = (cookies: Cookies, callers: Callers, trustedFor = 0) => {
  const trustedMaxAge = Math.floor(trustedFor / seconds)
  /** Several people may use one browser, so each account has its own value, the newest first. */
  const valuesIn = (request: FastifyRequest, name: string) =>
    (cookies.read(request, name) ?? '')
      .split('.')
      .filter((value) => tokenShape.test(value))
      .slice(0, maxAccounts)

  const trustedDevicesIn = (request: FastifyRequest) => valuesIn(request, 'trusted_device')
  const knownDevicesIn = (request: FastifyRequest) => valuesIn(request, 'known_device')
  /** Clears the cookie only if it was sent: a browser that comes from another site withholds a Strict cookie, which is still good. */
  const clearChallenge = (reply: FastifyReply) => {
    const wasSent = cookies.ownNamesSent(reply.request).includes('challenge')
    if (wasSent) cookies.clear(reply, 'challenge')
  }
  const browserOf = (request: FastifyRequest): Browser => ({
    // The chosen language comes first: a navigation back from a provider has the language header of the browser, not of the page.
    client: { ...clientOf(request), language: chosenLanguage(cookies, request) ?? languageOf(request) },
    trustedDevices: trustedDevicesIn(request),
    knownDevices: comesFromAnotherSite(request) ? undefined : knownDevicesIn(request),
    earlierSession: callers.sessionOfRefreshToken(request),
  })

  return {
    challengeOf: (request: FastifyRequest) => {
      const token = cookies.read(request, 'challenge')
      return token !== undefined && tokenShape.test(token) ? token : undefined
    },
    setChallenge: (reply: FastifyReply, token: string) => cookies.set(reply, 'challenge', token),
    clearChallenge,
    /** Returns the reply, which clears the challenge cookie if the refusal says that the sign-in is over. */
    clearChallengeIfOver: (reply: FastifyReply, { refused }: Refused) => {
      if (refused === 'challenge_over') clearChallenge(reply)
      return reply
    },
    setTrustedDevices: (reply: FastifyReply, tokens: readonly string[]) => {
      cookies.setFor(reply, 'trusted_device', tokens.slice(0, maxAccounts).join('.'), trustedMaxAge)
    },
    /** The values of this browser's known_device cookie. */
    knownDevicesIn,
    trustedDevicesIn,
    /** Clears these values, which belong to a deleted account; those of other accounts stay. */
    forgetDevices: (request: FastifyRequest, reply: FastifyReply, deletedValues: readonly string[]) => {
      const keepOthersIn = (name: 'trusted_device' | 'known_device', setTo: (value: string) => unknown) => {
        const values = valuesIn(request, name)
        const remaining = values.filter((value) => !deletedValues.includes(value))
        if (remaining.length === 0) cookies.clear(reply, name)
        else if (remaining.length < values.length) setTo(remaining.join('.'))
      }
      keepOthersIn('trusted_device', (value) => cookies.setFor(reply, 'trusted_device', value, trustedMaxAge))
      keepOthersIn('known_device', (value) => cookies.set(reply, 'known_device', value))
    },
    browserOf,
    /** The visit of a request with which a sign-in begins. */
    visitOf: (request: FastifyRequest, chosen: ChosenFacts): Visit => ({
      ...browserOf(request),
      facts: factsAtStart(chosen),
    }),
  }
}

/** Offers the browser to bind the session that has just begun. A browser that cannot do it ignores the header. */
export const offerBinding = (reply: FastifyReply, offer: string | undefined) => {
  if (offer !== undefined) reply.header('secure-session-registration', offer)
}

/** Answers with the user and the time at which the access token expires. `extra`: further properties of the answer. */
export const sendUser = (reply: FastifyReply, { user, accessTokenExpiresAt }: IssuedTokens, extra?: object) =>
  reply.send({ user, accessTokenExpiresAt: accessTokenExpiresAt.toISOString(), ...extra })

/** Sends the new tokens in cookies, and the user and the time at which the access token expires in the body. */
export const sendRenewed = (reply: FastifyReply, cookies: Cookies, issued: IssuedTokens) => {
  cookies.renewSession(reply, issued)
  return sendUser(reply, issued)
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
export const forgetInBrowser = (reply: FastifyReply, cookies: Cookies) => {
  cookies.clearSession(reply)
  reply.header('clear-site-data', '"cache"')
}
/** For the API document, beside `Set-Cookie`. */
export const cacheHeader = { 'Clear-Site-Data': '`"cache"` if a session has ended' }
