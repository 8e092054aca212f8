import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import { refuse } from '../contract/outcome.js'
import type { PasswordValidation } from '../domain/passwords/rules.js'
import type { Issued } from '../domain/sessions/sessions.js'
import type { Cookies } from './cookies.js'
import { sendRefusal } from './errors.js'

/** The schema of a 204. */
export const NoContent = Type.Unsafe<undefined>({ type: 'null', description: 'Done; there is nothing to say' })

/** The answer to a password that breaks the rules: the error body with the result of docs/specification.md, 2.5. */
export const PasswordRejected = Type.Object({
  error: Type.String(),
  message: Type.String(),
  code: Type.String(),
  valid: Type.Literal(false),
  errors: Type.Array(Type.String()),
})

export const sendPasswordRejected = (reply: FastifyReply, { errors }: PasswordValidation) =>
  sendRefusal(
    reply,
    refuse('password_rejected', { valid: false, errors, ...(errors[0] !== undefined && { message: errors[0] }) }),
  )

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
