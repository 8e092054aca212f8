import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Issued } from '../domain/sessions/sessions.js'

type Attributes = { sameSite: 'Strict' | 'Lax'; path?: string }

/** Everything that we put into a cookie is made of these characters, so nothing ever needs escaping. */
const plainValue = /^[\w.-]*$/

const nameOf = (pair: string) => {
  const end = pair.indexOf('=')
  return (end === -1 ? pair : pair.slice(0, end)).trim()
}

const pairsOf = (request: FastifyRequest) => (request.headers.cookie ?? '').split(';')

export type Cookies = ReturnType<typeof createCookies>

export const createCookies = ({ secure }: { secure: boolean }) => {
  /** Two cookies of one name count as none: one of them was planted, and nothing tells which. */
  const read = (request: FastifyRequest, name: string) => {
    const [only = '', ...others] = pairsOf(request).filter((pair) => nameOf(pair) === name)
    if (others.length > 0 || !only.includes('=')) return undefined
    return only.slice(only.indexOf('=') + 1).trim() || undefined
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
    read,
    names: (request: FastifyRequest) => pairsOf(request).map(nameOf),
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
