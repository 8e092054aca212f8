import { isIP } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type CookieValues, readCookieHeader } from '../contract/cookie-header.js'
import { knownDeviceLifetime } from '../domain/known-devices/known-devices.js'
import { registrationLifetime } from '../domain/registrations/registrations.js'
import type { Issued } from '../domain/sessions/sessions.js'
import type { Started } from '../domain/sign-in/start.js'
import { seconds } from '../lib/durations.js'

type Attributes = { sameSite: 'Strict' | 'Lax' }
type Line = Attributes & { maxAge: number; domain?: string | undefined }

/** Everything that we put into a cookie is made of these characters, so nothing ever needs escaping. */
const plainValue = /^[\w.-]*$/

/** The specification names these two. Every other cookie has a prefix in production. */
const sessionCookies = ['access_token', 'refresh_token'] as const
const isSessionCookie = (name: string) => sessionCookies.some((known) => known === name)

/** Ties the confirmation of an email to the browser that registered it. Other browsers also need the password. */
export const registrationCookie = { name: 'registration', maxAge: registrationLifetime / seconds }

/** Makes failures in this browser count apart from those of others. It signs no user in. */
export const knownDeviceCookie = {
  name: 'known_device',
  sameSite: 'Strict',
  maxAge: knownDeviceLifetime / seconds,
} as const

/** The most that the cookies of a browser may need together, so that every proxy takes the header. */
const longestHeader = 4_096

const mostDomains = 4

/** The host and the domains above it, for which another host could have set a cookie. No browser accepts one for `com`. */
const domainsOf = (host: string) => {
  const labels = isIP(host) ? [] : host.split('.')
  return labels
    .slice(0, -1)
    .map((_, place) => labels.slice(place).join('.'))
    .slice(-mostDomains)
}

const bytesOf = (name: string, value: string) => `; ${name}=${value}`.length

export type Cookies = ReturnType<typeof createCookies>

/**
 * In production a browser accepts a cookie whose name begins with `__Host-` from this host only: a sibling host cannot
 * plant it for the whole domain. It needs `Secure` and `Path=/`, so in development the plain names are used. Callers know
 * the plain names only.
 */
export const createCookies = ({
  secure,
  host,
  domain,
}: {
  secure: boolean
  host: string
  domain?: string | undefined
}) => {
  const jars = new WeakMap<FastifyRequest, CookieValues>()
  const prefix = secure ? '__Host-' : ''
  /** The other places where a session cookie could be: for this host only, and for each domain above it. */
  const otherPlaces = [undefined, ...domainsOf(host)].filter((place) => place !== domain)
  const nameOf = (name: string) => (isSessionCookie(name) ? name : prefix + name)

  /** The header is read once for each request, however many cookies are asked for. */
  const jarOf = (request: FastifyRequest) => {
    const known = jars.get(request)
    if (known) return known
    const jar = readCookieHeader(request.headers.cookie ?? '')
    jars.set(request, jar)
    return jar
  }

  const set = (reply: FastifyReply, name: string, value: string, line: Line) => {
    if (!plainValue.test(value)) throw new Error(`The value for the cookie ${name} has characters that need escaping`)
    const { maxAge, sameSite } = line
    const place = `${line.domain === undefined ? '' : `Domain=${line.domain}; `}Path=/`
    const flags = `${place}; HttpOnly; SameSite=${sameSite}${secure ? '; Secure' : ''}`
    reply.header('Set-Cookie', `${nameOf(name)}=${value}; Max-Age=${maxAge}; ${flags}`)
  }

  const clear = (reply: FastifyReply, name: string, attributes: Attributes & { domain?: string | undefined }) =>
    set(reply, name, '', { ...attributes, maxAge: 0 })

  const clearAt = (reply: FastifyReply, place: string | undefined) => {
    for (const name of sessionCookies) clear(reply, name, { sameSite: 'Strict', domain: place })
  }

  /** Clears what a sibling host has set for a parent domain, and what was set before COOKIE_DOMAIN was changed. */
  const clearElsewhere = (reply: FastifyReply) => {
    for (const place of otherPlaces) clearAt(reply, place)
  }

  const setSession = (reply: FastifyReply, issued: Issued) => {
    const ours = { sameSite: 'Strict', domain } as const
    set(reply, 'access_token', issued.accessToken, { ...ours, maxAge: issued.accessTokenMaxAge })
    set(reply, 'refresh_token', issued.refreshToken, { ...ours, maxAge: issued.refreshTokenMaxAge })
  }

  const keepKnownDevice = (reply: FastifyReply, values: readonly string[]) =>
    set(reply, knownDeviceCookie.name, values.join('.'), knownDeviceCookie)

  const clearSession = (reply: FastifyReply) => {
    clearAt(reply, domain)
    clearElsewhere(reply)
  }

  const isDoubled = (request: FastifyRequest) => sessionCookies.some((name) => jarOf(request).doubled.has(name))

  return {
    read: (request: FastifyRequest, name: string) => jarOf(request).values.get(nameOf(name)),
    /** The names of ours without the prefix, and in development any other. */
    names: (request: FastifyRequest) =>
      [...jarOf(request).values.keys()]
        .filter((name) => name.startsWith(prefix))
        .map((name) => name.slice(prefix.length)),
    /** What is left of the Cookie header beside all that came and this cookie. Below 0, others have to be cleared. */
    bytesLeftWith: (request: FastifyRequest, name: string, value: string) =>
      longestHeader - (request.headers.cookie ?? '').length - bytesOf(nameOf(name), value),
    /** What clearing this cookie makes free. */
    bytesOf: (request: FastifyRequest, name: string) =>
      bytesOf(nameOf(name), jarOf(request).values.get(nameOf(name)) ?? ''),
    set,
    clear,
    clearSession,
    /** Whether a session cookie is there twice: one of the two was planted. */
    isDoubled,
    /** New tokens of a session that continues. */
    renewSession: (reply: FastifyReply, issued: Issued) => {
      clearElsewhere(reply)
      setSession(reply, issued)
    },
    /** The same for a proxy that passes the cookies on: nginx looks for a cookie by its name, and takes the first line. */
    renewThroughProxy: (reply: FastifyReply, issued: Issued) => {
      setSession(reply, issued)
      clearElsewhere(reply)
    },
    /** A cookie that was planted before would break the new session. We may not see it: Strict cookies are not always sent. */
    startSession: (reply: FastifyReply, started: Started) => {
      clearElsewhere(reply)
      setSession(reply, started)
      if (started.knownDevices) keepKnownDevice(reply, started.knownDevices)
    },
    keepKnownDevice,
    /** A planted cookie beside ours signs the browser out. Clearing every variant lets the user sign in again. */
    clearDoubled: (request: FastifyRequest, reply: FastifyReply) => {
      if (isDoubled(request)) clearSession(reply)
    },
  }
}
