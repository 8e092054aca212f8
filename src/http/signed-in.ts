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

const send = (reply: FastifyReply, { user, accessTokenExpiresAt }: Issued) =>
  reply.send({ user, accessTokenExpiresAt: accessTokenExpiresAt.toISOString() })

export const sendSignedIn = (reply: FastifyReply, cookies: Cookies, issued: Issued) => {
  cookies.startSession(reply, issued)
  return send(reply, issued)
}

export const sendRenewed = (reply: FastifyReply, cookies: Cookies, issued: Issued) => {
  cookies.renewSession(reply, issued)
  return send(reply, issued)
}
