import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import type { Issued } from '../domain/sessions/sessions.js'
import type { Cookies } from './cookies.js'

/** The answer to everything that signs somebody in. The tokens are in cookies only, never in a body. */
export const SignedIn = Type.Object({
  user: Type.Object({
    id: Type.String({ format: 'uuid' }),
    username: Type.String(),
    email: Type.String(),
    name: Type.Union([Type.String(), Type.Null()]),
  }),
  accessTokenExpiresAt: Type.String({ format: 'date-time' }),
})

export const sendSignedIn = (reply: FastifyReply, cookies: Cookies, issued: Issued) => {
  cookies.setSession(reply, issued)
  return reply.send({ user: issued.user, accessTokenExpiresAt: issued.accessTokenExpiresAt.toISOString() })
}
