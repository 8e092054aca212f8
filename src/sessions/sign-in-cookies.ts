import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Refused } from '../contract/outcome.js'
import { type Cookies, chosenLanguage } from '../http/cookies.js'
import { clientOf, languageOf } from '../http/request-origin.js'

import { seconds } from '../lib/durations.js'
import type { Visit } from '../sign-in/sign-ins.js'
import type { Callers } from './caller.js'
import { maxAccounts } from './known-devices.js'

const tokenShape = /^[\w-]{43}$/

/** Whether another site sent the browser here: then it withholds `SameSite=Strict` cookies. */
export const comesFromAnotherSite = ({ headers }: FastifyRequest) => headers['sec-fetch-site'] === 'cross-site'

export type SignInCookies = ReturnType<typeof createSignInCookies>

type Dependencies = {
  cookies: Cookies
  callers: Pick<Callers, 'sessionOfRefreshToken'>
  trustedFor?: number | undefined
}

/** The cookies of a sign-in: what a browser keeps between its two steps, and what makes it known or trusted afterwards. */
export const createSignInCookies = ({ cookies, callers, trustedFor = 0 }: Dependencies) => {
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
      cookies.set(reply, 'trusted_device', tokens.slice(0, maxAccounts).join('.'), trustedMaxAge)
    },
    /** The values of this browser's known_device cookie. */
    knownDevicesIn,
    trustedDevicesIn,
    /** Clears these values, which belong to a deleted account; those of other accounts stay. */
    forgetDevices: (request: FastifyRequest, reply: FastifyReply, deletedValues: readonly string[]) => {
      const maxAges = { trusted_device: trustedMaxAge, known_device: undefined }
      for (const name of ['trusted_device', 'known_device'] as const) {
        const values = valuesIn(request, name)
        const remaining = values.filter((value) => !deletedValues.includes(value))
        if (remaining.length === 0) cookies.clear(reply, name)
        else if (remaining.length < values.length) cookies.set(reply, name, remaining.join('.'), maxAges[name])
      }
    },
    visitOf: (request: FastifyRequest): Visit => ({
      // The chosen language comes first: a navigation back from a provider has the language header of the browser, not of the page.
      client: { ...clientOf(request), language: chosenLanguage(cookies, request) ?? languageOf(request) },
      trustedDevices: trustedDevicesIn(request),
      knownDevices: comesFromAnotherSite(request) ? undefined : knownDevicesIn(request),
      earlierSession: callers.sessionOfRefreshToken(request),
    }),
  }
}
