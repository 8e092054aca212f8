import { isIP } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Refused } from '../contract/outcome.js'
import { sessionCookies } from '../http/cookie-table.js'
import { type Cookies, chosenLanguage, cookieLine } from '../http/cookies.js'
import { clientOf, languageOf } from '../http/request-origin.js'
import { seconds } from '../lib/durations.js'
import type { NewSession } from '../sign-in/new-sessions.js'
import type { Visit } from '../sign-in/sign-ins.js'

import type { Callers } from './callers.js'
import { maxAccounts } from './known-devices.js'
import type { IssuedTokens } from './sessions.js'

const maxDomains = 4

/** The host and the domains above it, for which another host could have set a cookie. No browser accepts one for `com`. */
const domainsOf = (host: string) => {
  const labels = isIP(host) ? [] : host.split('.')
  return labels
    .slice(0, -1)
    .map((_, start) => labels.slice(start).join('.'))
    .slice(-maxDomains)
}

type Options = {
  secure: boolean
  host: string
  domain: string | undefined
  setKnownDevices: (reply: FastifyReply, values: readonly string[]) => unknown
}

/** The two cookies of a session, which may have a Domain: another host could have planted one beside ours. */
export const createSessionCookies = ({ secure, host, domain, setKnownDevices }: Options) => {
  /** The other places where a session cookie could be: for this host only, and for each domain above it. */
  const otherDomains = [undefined, ...domainsOf(host)].filter((otherDomain) => otherDomain !== domain)

  const write = (reply: FastifyReply, line: string) => reply.header('Set-Cookie', line)

  const clearAt = (reply: FastifyReply, otherDomain: string | undefined) => {
    for (const name of sessionCookies) write(reply, cookieLine(name, '', { secure, domain: otherDomain, maxAge: 0 }))
  }

  /** Clears what a sibling host has set for a parent domain, and what was set before COOKIE_DOMAIN was changed. */
  const clearElsewhere = (reply: FastifyReply) => {
    for (const otherDomain of otherDomains) clearAt(reply, otherDomain)
  }

  const setSession = (reply: FastifyReply, issued: IssuedTokens) => {
    const { accessToken, accessTokenMaxAge, refreshToken, refreshTokenMaxAge } = issued
    write(reply, cookieLine('access_token', accessToken, { secure, domain, maxAge: accessTokenMaxAge }))
    write(reply, cookieLine('refresh_token', refreshToken, { secure, domain, maxAge: refreshTokenMaxAge }))
  }

  return {
    clearSession: (reply: FastifyReply) => {
      clearAt(reply, domain)
      clearElsewhere(reply)
    },
    /** New tokens of a session that continues. */
    renewSession: (reply: FastifyReply, issued: IssuedTokens) => {
      clearElsewhere(reply)
      setSession(reply, issued)
    },
    /**
     * New tokens through a proxy that passes the cookies on. The new cookies come before those that are cleared, because nginx takes
     * the first line with a name.
     */
    renewThroughProxy: (reply: FastifyReply, issued: IssuedTokens) => {
      setSession(reply, issued)
      clearElsewhere(reply)
    },
    /**
     * Also clears cookies at other domains: one that was planted before would break the new session. We may not see it, because Strict
     * cookies are not always sent.
     */
    setNewSession: (reply: FastifyReply, session: NewSession) => {
      clearElsewhere(reply)
      setSession(reply, session)
      if (session.knownDevices) setKnownDevices(reply, session.knownDevices)
    },
  }
}

const tokenShape = /^[\w-]{43}$/

/** Whether another site sent the browser here: then it withholds `SameSite=Strict` cookies. */
export const comesFromAnotherSite = ({ headers }: FastifyRequest) => headers['sec-fetch-site'] === 'cross-site'

export type SignInCookies = ReturnType<typeof createSignInCookies>

type Dependencies = {
  cookies: Cookies
  callers: Callers
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
