import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Issued } from '../domain/sessions/sessions.js'

type Attributes = { sameSite: 'Strict' | 'Lax'; path?: string }

/** Everything that we put into a cookie is made of these characters, so nothing ever needs escaping. */
const plainValue = /^[\w.-]*$/

export type Cookies = ReturnType<typeof createCookies>

export const createCookies = ({ secure }: { secure: boolean }) => {
  /** Two cookies of one name count as none: one of them was planted, and nothing tells which. */
  const read = (request: FastifyRequest, name: string) => {
    const values = (request.headers.cookie ?? '').split(';').flatMap((pair) => {
      const [key = '', ...value] = pair.split('=')
      return key.trim() === name ? [value.join('=').trim()] : []
    })
    return values.length === 1 && values[0] !== '' ? values[0] : undefined
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
    names: (request: FastifyRequest) =>
      (request.headers.cookie ?? '').split(';').map((pair) => pair.split('=', 1)[0]?.trim() ?? ''),
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
