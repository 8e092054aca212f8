import type { FastifyReply, FastifyRequest } from 'fastify'
import { type CookieValues, readCookieHeader } from '../contract/cookie-header.js'
import { isLanguage, type Language } from '../contract/languages.js'
import { createSessionCookies } from '../sessions/session-cookies.js'
import { type CookieName, cookieRowOf, hostPrefix, isSessionCookie, maxAgeOf, sessionCookies } from './cookie-table.js'

/** Everything that we put into a cookie is made of these characters, so nothing ever needs escaping. */
const plainValue = /^[\w.-]*$/

/**
 * In production a browser accepts a cookie whose name begins with `__Host-` from this host only: a sibling host cannot
 * plant it for the whole domain. It needs `Secure` and `Path=/`, so in development the plain names are used.
 */
export const fullCookieName = (name: string, secure: boolean) =>
  secure && !isSessionCookie(name) ? hostPrefix + name : name

/** `maxAge` is in seconds: for a cookie whose lifetime the table only limits (`atMost`), or 0 to clear a cookie. */
type LineOptions = { secure: boolean; domain?: string | undefined; maxAge?: number | undefined }

/** A `Set-Cookie` line as the table says. */
export const cookieLine = (name: CookieName, value: string, { secure, domain, maxAge }: LineOptions) => {
  if (!plainValue.test(value)) throw new Error(`The value for the cookie ${name} has characters that need escaping`)
  const row = cookieRowOf(name)
  if (!row) throw new Error(`The table of cookies has no ${name}`)
  const domainAndPath = `${domain === undefined ? '' : `Domain=${domain}; `}Path=/`
  const flags = `${domainAndPath}; HttpOnly; SameSite=${row.sameSite}${secure ? '; Secure' : ''}`
  return `${fullCookieName(name, secure)}=${value}; Max-Age=${maxAge ?? maxAgeOf(row)}; ${flags}`
}

/** The most that the cookies of a browser may need together, so that every proxy takes the header. */
const maxCookieHeader = 4_096

const pairLength = (name: string, value: string) => `; ${name}=${value}`.length

type Options = { secure: boolean; host: string; domain?: string | undefined }

export type Cookies = ReturnType<typeof createCookies>

/** Reads and sets cookies. Callers use plain names: the prefix is added and removed here. */
export const createCookies = ({ secure, host, domain }: Options) => {
  const jars = new WeakMap<FastifyRequest, CookieValues>()
  const prefix = secure ? hostPrefix : ''
  const nameOf = (name: string) => fullCookieName(name, secure)

  /** The header is read once for each request, however many cookies are asked for. */
  const jarOf = (request: FastifyRequest) => {
    const cached = jars.get(request)
    if (cached) return cached
    const jar = readCookieHeader(request.headers.cookie ?? '')
    jars.set(request, jar)
    return jar
  }

  const set = (reply: FastifyReply, name: CookieName, value: string, maxAge?: number) =>
    reply.header('Set-Cookie', cookieLine(name, value, { secure, maxAge }))

  const clear = (reply: FastifyReply, name: CookieName) => set(reply, name, '', 0)

  const setKnownDevices = (reply: FastifyReply, values: readonly string[]) =>
    set(reply, 'known_device', values.join('.'))

  return {
    read: (request: FastifyRequest, name: string) => jarOf(request).values.get(nameOf(name)),
    /**
     * The plain names of the cookies that have our prefix. In production the two session cookies have none and are missing here. In
     * development no cookie has one, so cookies of other programs are here too.
     */
    ownNamesSent: (request: FastifyRequest) =>
      [...jarOf(request).values.keys()]
        .filter((name) => name.startsWith(prefix))
        .map((name) => name.slice(prefix.length)),
    /** How many bytes are left in the Cookie header when this cookie is added. Below 0, others have to be cleared. */
    bytesLeftWith: (request: FastifyRequest, name: string, value: string) =>
      maxCookieHeader - (request.headers.cookie ?? '').length - pairLength(nameOf(name), value),
    /** How many bytes of the Cookie header become free when this cookie is cleared. */
    bytesFreedBy: (request: FastifyRequest, name: string) =>
      pairLength(nameOf(name), jarOf(request).values.get(nameOf(name)) ?? ''),
    set,
    clear,
    ...createSessionCookies({ secure, host, domain, setKnownDevices }),
    /** Whether a session cookie is there twice: one of the two was planted. */
    hasDoubledSessionCookie: (request: FastifyRequest) =>
      sessionCookies.some((name) => jarOf(request).doubled.has(name)),
    setKnownDevices,
  }
}

/** The language that the visitor chose on one of our pages. A value that is none of our languages counts as no choice. */
export const chosenLanguage = (cookies: Cookies, request: FastifyRequest): Language | undefined => {
  const value = cookies.read(request, 'latchkey_language') ?? null
  return isLanguage(value) ? value : undefined
}
