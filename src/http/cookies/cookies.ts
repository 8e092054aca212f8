import type { FastifyReply, FastifyRequest } from 'fastify'
import { type CookieValues, readCookieHeader } from '../../contract/cookie-header.js'
import { cookieLine, fullCookieName } from './cookie-line.js'
import { type CookieName, hostPrefix, sessionCookies } from './cookie-table.js'
import { createSessionCookies } from './session-cookies.js'

/** The most that the cookies of a browser may need together, so that every proxy takes the header. */
const maxCookieHeader = 4_096

const bytesOf = (name: string, value: string) => `; ${name}=${value}`.length

type Options = { secure: boolean; host: string; domain?: string | undefined }

export type Cookies = ReturnType<typeof createCookies>

/** Reads and sets cookies. Callers know their plain names only. */
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

  const keepKnownDevice = (reply: FastifyReply, values: readonly string[]) =>
    set(reply, 'known_device', values.join('.'))

  return {
    read: (request: FastifyRequest, name: string) => jarOf(request).values.get(nameOf(name)),
    /** The names of our cookies, without the prefix. In development there is no prefix, so cookies of other programs are among them. */
    names: (request: FastifyRequest) =>
      [...jarOf(request).values.keys()]
        .filter((name) => name.startsWith(prefix))
        .map((name) => name.slice(prefix.length)),
    /** How many bytes are left in the Cookie header when this cookie is added. Below 0, others have to be cleared. */
    bytesLeftWith: (request: FastifyRequest, name: string, value: string) =>
      maxCookieHeader - (request.headers.cookie ?? '').length - bytesOf(nameOf(name), value),
    /** How many bytes are free again when this cookie is cleared. */
    bytesOf: (request: FastifyRequest, name: string) =>
      bytesOf(nameOf(name), jarOf(request).values.get(nameOf(name)) ?? ''),
    set,
    clear,
    ...createSessionCookies({ secure, host, domain, keepKnownDevice }),
    /** Whether a session cookie is there twice: one of the two was planted. */
    hasDoubledSessionCookie: (request: FastifyRequest) =>
      sessionCookies.some((name) => jarOf(request).doubled.has(name)),
    keepKnownDevice,
  }
}
