import { isIP } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type CookieValues, readCookieHeader } from '../../contract/cookie-header.js'
import type { Issued } from '../../domain/sessions/sessions.js'
import type { Started } from '../../domain/sign-in/start.js'
import { cookieLine, fullCookieName } from './cookie-line.js'
import { type CookieName, prefixOfHost, sessionCookies } from './cookie-table.js'

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

type Options = { secure: boolean; host: string; domain?: string | undefined }

export type Cookies = ReturnType<typeof createCookies>

/** Reads and sets cookies. Callers know their plain names only. */
export const createCookies = ({ secure, host, domain }: Options) => {
  const jars = new WeakMap<FastifyRequest, CookieValues>()
  const prefix = secure ? prefixOfHost : ''
  /** The other places where a session cookie could be: for this host only, and for each domain above it. */
  const otherPlaces = [undefined, ...domainsOf(host)].filter((place) => place !== domain)
  const nameOf = (name: string) => fullCookieName(name, secure)

  /** The header is read once for each request, however many cookies are asked for. */
  const jarOf = (request: FastifyRequest) => {
    const known = jars.get(request)
    if (known) return known
    const jar = readCookieHeader(request.headers.cookie ?? '')
    jars.set(request, jar)
    return jar
  }

  const write = (reply: FastifyReply, line: string) => reply.header('Set-Cookie', line)

  const set = (reply: FastifyReply, name: CookieName, value: string, maxAge?: number) =>
    write(reply, cookieLine(name, value, { secure, maxAge }))

  const clear = (reply: FastifyReply, name: CookieName) => set(reply, name, '', 0)

  const clearAt = (reply: FastifyReply, place: string | undefined) => {
    for (const name of sessionCookies) write(reply, cookieLine(name, '', { secure, domain: place, maxAge: 0 }))
  }

  /** Clears what a sibling host has set for a parent domain, and what was set before COOKIE_DOMAIN was changed. */
  const clearElsewhere = (reply: FastifyReply) => {
    for (const place of otherPlaces) clearAt(reply, place)
  }

  const setSession = (reply: FastifyReply, issued: Issued) => {
    const { accessToken, accessTokenMaxAge, refreshToken, refreshTokenMaxAge } = issued
    write(reply, cookieLine('access_token', accessToken, { secure, domain, maxAge: accessTokenMaxAge }))
    write(reply, cookieLine('refresh_token', refreshToken, { secure, domain, maxAge: refreshTokenMaxAge }))
  }

  const keepKnownDevice = (reply: FastifyReply, values: readonly string[]) =>
    set(reply, 'known_device', values.join('.'))

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
