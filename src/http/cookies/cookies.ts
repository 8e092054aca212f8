import type { FastifyReply, FastifyRequest } from 'fastify'
import { type CookieValues, readCookieHeader } from '../../contract/cookie-header.js'
import { cookieLine, fullCookieName } from './cookie-line.js'
import { type CookieName, prefixOfHost, sessionCookies } from './cookie-table.js'
import { createSessionCookies } from './session-cookies.js'

/** The most that the cookies of a browser may need together, so that every proxy takes the header. */
const longestHeader = 4_096

const bytesOf = (name: string, value: string) => `; ${name}=${value}`.length

type Options = { secure: boolean; host: string; domain?: string | undefined }

export type Cookies = ReturnType<typeof createCookies>

/** Reads and sets cookies. Callers know their plain names only. */
export const createCookies = ({ secure, host, domain }: Options) => {
  const jars = new WeakMap<FastifyRequest, CookieValues>()
  const prefix = secure ? prefixOfHost : ''
  const nameOf = (name: string) => fullCookieName(name, secure)

  /** The header is read once for each request, however many cookies are asked for. */
  const jarOf = (request: FastifyRequest) => {
    const known = jars.get(request)
    if (known) return known
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
    ...createSessionCookies({ secure, host, domain, keepKnownDevice }),
    /** Whether a session cookie is there twice: one of the two was planted. */
    isDoubled: (request: FastifyRequest) => sessionCookies.some((name) => jarOf(request).doubled.has(name)),
    keepKnownDevice,
  }
}
