import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Issued } from '../domain/sessions/sessions.js'

type Attributes = { sameSite: 'Strict' | 'Lax'; path?: string }

/** Everything that we put into a cookie is made of these characters, so nothing ever needs escaping. */
const plainValue = /^[\w.-]*$/

type Jar = ReadonlyMap<string, string | undefined>

/** Two cookies of one name count as none: one of them was planted, and nothing tells which. */
const parse = (header: string): Jar => {
  const jar = new Map<string, string | undefined>()
  for (const pair of header.split(';')) {
    const end = pair.indexOf('=')
    const name = (end === -1 ? pair : pair.slice(0, end)).trim()
    const value = end === -1 ? undefined : pair.slice(end + 1).trim() || undefined
    jar.set(name, jar.has(name) ? undefined : value)
  }
  return jar
}

export type Cookies = ReturnType<typeof createCookies>

export const createCookies = ({ secure }: { secure: boolean }) => {
  const jars = new WeakMap<FastifyRequest, Jar>()

  /** The header is read once for each request, however many cookies are asked for. */
  const jarOf = (request: FastifyRequest) => {
    const known = jars.get(request)
    if (known) return known
    const jar = parse(request.headers.cookie ?? '')
    jars.set(request, jar)
    return jar
  }

  const set = (reply: FastifyReply, name: string, value: string, attributes: Attributes & { maxAge: number }) => {
    if (!plainValue.test(value)) throw new Error(`The value for the cookie ${name} has characters that need escaping`)
    const { maxAge, sameSite, path = '/' } = attributes
    const flags = `Path=${path}; HttpOnly; SameSite=${sameSite}${secure ? '; Secure' : ''}`
    reply.header('Set-Cookie', `${name}=${value}; Max-Age=${maxAge}; ${flags}`)
  }

  const clear = (reply: FastifyReply, name: string, attributes: Attributes) =>
    set(reply, name, '', { ...attributes, maxAge: 0 })

  return {
    read: (request: FastifyRequest, name: string) => jarOf(request).get(name),
    names: (request: FastifyRequest) => [...jarOf(request).keys()],
    set,
    clear,
    setSession: (reply: FastifyReply, issued: Issued) => {
      set(reply, 'access_token', issued.accessToken, { sameSite: 'Strict', maxAge: issued.accessTokenMaxAge })
      set(reply, 'refresh_token', issued.refreshToken, { sameSite: 'Strict', maxAge: issued.refreshTokenMaxAge })
    },
    clearSession: (reply: FastifyReply) => {
      clear(reply, 'access_token', { sameSite: 'Strict' })
      clear(reply, 'refresh_token', { sameSite: 'Strict' })
    },
  }
}
