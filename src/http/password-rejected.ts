import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import type { PasswordValidation } from '../domain/passwords/rules.js'
import { sendAnswer } from './errors.js'

/** The answer to a password that breaks the rules: the validation result of 2.5 inside the one error shape. */
export const PasswordRejected = Type.Object({
  error: Type.String(),
  message: Type.String(),
  valid: Type.Literal(false),
  errors: Type.Array(Type.String()),
})

const rejected = { status: 422, error: 'Password rejected', message: 'Choose another password' }

export const sendPasswordRejected = (reply: FastifyReply, { errors }: PasswordValidation) =>
  sendAnswer(reply, { ...rejected, message: errors[0] ?? rejected.message }, { valid: false, errors })
