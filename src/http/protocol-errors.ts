import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import type { RefusalCode } from '../contract/refusals.js'

/** The error codes of RFC 6749 (5.2), RFC 6750 (3.1), RFC 7009 (2.2.1) and RFC 8628 (3.5). */
export type ProtocolErrorCode =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'invalid_scope'
  | 'unauthorized_client'
  | 'unsupported_grant_type'
  | 'invalid_token'
  | 'insufficient_scope'
  | 'authorization_pending'
  | 'slow_down'
  | 'access_denied'
  | 'expired_token'
  | 'temporarily_unavailable'
  | 'server_error'

export const ProtocolErrorBody = Type.Object({ error: Type.String(), error_description: Type.String() })

/** `description` is ASCII without quotes and backslashes (RFC 6749, 5.2), and says nothing that the sender does not know. */
export type ProtocolError = {
  error: ProtocolErrorCode
  description: string
  status?: 400 | 401 | 403 | 405 | 429 | 500 | 503
}

const challenges = {
  basic: () => 'Basic realm="latchkey"',
  bearer: ({ error, description }: ProtocolError) => `Bearer error="${error}", error_description="${description}"`,
  /** For a request without a token, which is no error (RFC 6750, 3.1). A challenge has one parameter at least (section 3). */
  bearerWithoutError: () => 'Bearer realm="latchkey"',
}

/** `scheme`: the entry of `challenges` for answers that have `WWW-Authenticate`. */
export const sendProtocolError = (reply: FastifyReply, fault: ProtocolError, scheme?: keyof typeof challenges) => {
  const { error, description, status = 400 } = fault
  if (scheme) reply.header('WWW-Authenticate', challenges[scheme](fault))
  return reply.status(status).send({ error, error_description: description })
}

/** The error of the protocol for each of our own refusals. */
const protocolCodes: Partial<Record<RefusalCode, ProtocolErrorCode>> = {
  unavailable: 'temporarily_unavailable',
  internal: 'server_error',
  too_many_requests: 'temporarily_unavailable',
  too_many_logins: 'temporarily_unavailable',
}

const toPlainAscii = (text: string) => text.replaceAll(/["\\]|[^\x20-\x7e]/g, '')

/** The body of a refusal that a hook or a failure causes on a route of the protocol. */
export const protocolBodyOf = (refused: RefusalCode, message: string) => ({
  error: protocolCodes[refused] ?? 'invalid_request',
  error_description: toPlainAscii(message),
})
