import type { FastifyReply, FastifyRequest } from 'fastify'
import { type CookieValues, readCookieHeader } from '../contract/cookie-header.js'
import { createSessionCookies } from '../sessions/session-cookies.js'
import { cookieLine, fullCookieName } from './cookie-line.js'
import { type CookieName, hostPrefix, sessionCookies } from './cookie-table.js'

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
