import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Refused } from '../contract/outcome.js'
import { mostAccounts } from '../domain/known-devices/known-devices.js'
import { challengeLifetime } from '../domain/sign-in/challenges.js'
import type { Visit } from '../domain/sign-in/sign-ins.js'
import { seconds } from '../lib/durations.js'
import { clientOf, languageOf } from './client.js'
import { type Cookies, knownDeviceCookie } from './cookies.js'

const challenge = { name: 'challenge', sameSite: 'Strict' } as const
/** Lax, because a browser sends no Strict cookie when a provider sends it back to us. Alone it signs no user in. */
const trustedDevice = { name: 'trusted_device', sameSite: 'Lax' } as const
const tokenShape = /^[\w-]{43}$/

/** A browser then withholds Strict cookies. */
const comesFromAnotherSite = ({ headers }: FastifyRequest) => headers['sec-fetch-site'] === 'cross-site'

export type SignInCookies = ReturnType<typeof createSignInCookies>

/** What a browser keeps between the two steps of a sign-in, and after it if it is trusted. */
export const createSignInCookies = ({
  cookies,
  trustedFor = 0,
}: {
  cookies: Cookies
  trustedFor?: number | undefined
}) => {
  /** A family computer: each account has its own value, the newest first. */
  const valuesIn = (request: FastifyRequest, name: string) =>
    (cookies.read(request, name) ?? '')
      .split('.')
      .filter((value) => tokenShape.test(value))
      .slice(0, mostAccounts)

  const trustedIn = (request: FastifyRequest) => valuesIn(request, trustedDevice.name)
  const knownIn = (request: FastifyRequest) => valuesIn(request, knownDeviceCookie.name)
  /** Only one that came: a browser that another site sent here withholds a Strict cookie that is still good. */
  const clearChallenge = (reply: FastifyReply) => {
    const came = cookies.names(reply.request).includes(challenge.name)
    if (came) cookies.clear(reply, challenge.name, challenge)
  }

  return {
    challengeOf: (request: FastifyRequest) => {
      const token = cookies.read(request, challenge.name)
      return token !== undefined && tokenShape.test(token) ? token : undefined
    },
    keepChallenge: (reply: FastifyReply, token: string) =>
      cookies.set(reply, challenge.name, token, { ...challenge, maxAge: challengeLifetime / seconds }),
    clearChallenge,
    clearIfOver: (reply: FastifyReply, { refused }: Refused) => {
      if (refused === 'challenge_over') clearChallenge(reply)
    },
    trust: (reply: FastifyReply, tokens: readonly string[]) => {
      const value = tokens.slice(0, mostAccounts).join('.')
      cookies.set(reply, trustedDevice.name, value, { ...trustedDevice, maxAge: Math.floor(trustedFor / seconds) })
    },
    /** The values of this browser's known_device cookie. */
    knownIn,
    trustedIn,
    /** Clears these values of an account that is gone; those of other accounts stay. */
    forget: (request: FastifyRequest, reply: FastifyReply, gone: readonly string[]) => {
      const maxAge = Math.floor(trustedFor / seconds)
      for (const cookie of [{ ...trustedDevice, maxAge }, knownDeviceCookie]) {
        const values = valuesIn(request, cookie.name)
        const others = values.filter((value) => !gone.includes(value))
        if (others.length === 0) cookies.clear(reply, cookie.name, cookie)
        else if (others.length < values.length) cookies.set(reply, cookie.name, others.join('.'), cookie)
      }
    },
    visitOf: (request: FastifyRequest): Visit => ({
      client: clientOf(request),
      trustedDevices: trustedIn(request),
      knownDevices: comesFromAnotherSite(request) ? undefined : knownIn(request),
      language: languageOf(request),
    }),
  }
}
