import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { type Refused, refuse } from '../contract/outcome.js'
import type { InvalidFields } from '../contract/profile-fields.js'
import type { FreshSignInRequired, PasswordRejected } from '../contract/refusal-bodies.js'
import { type RefusalCode, refusals } from '../contract/refusals.js'

import {
  ActorRefused,
  isForeignKeyViolation,
  isUnusableTable,
  StoreUnavailable,
} from '../platform/database/database.js'

import { protocolBodyOf } from './protocol-errors.js'
import { isForPrograms } from './protocol-routes.js'
import { requestIdHeader } from './request-ids.js'
import { type Schema, validationMessage } from './validation-message.js'

/**
 * A refusal with what its body may add to the table: a more exact message, what is wrong with a password or with fields, the methods of
 * a proof, or the date from which another username is allowed.
 */
type DetailedRefusal = Refused<RefusalCode> & { message?: string; retryAfter?: number; freeFrom?: Date } & Partial<
    Pick<PasswordRejected, 'errors' | 'ids'>
  > &
  Partial<Pick<FreshSignInRequired, 'methods'>> &
  Partial<Pick<InvalidFields, 'fields'>>

/** An operator has to solve these, and finds the request by its id. */
const refusalsWithRequestId: readonly RefusalCode[] = ['unknown_application', 'redirect_not_registered']

/** A failure on our side has the id of the request, which leads to its lines in the log. */
export const bodyOf = (
  { refused, message, errors, ids, methods, retryAfter, freeFrom, fields }: DetailedRefusal,
  requestId?: string,
) => {
  const { status, error, message: defaultMessage } = refusals[refused]
  const body = { error, message: message ?? errors?.[0] ?? defaultMessage, code: refused }
  if ((status >= 500 || refusalsWithRequestId.includes(refused)) && requestId !== undefined)
    return { ...body, requestId }
  if (methods) return { ...body, methods }
  if (fields) return { ...body, fields }
  // Other refusals say it in their header only.
  if (refused === 'too_many_mails' && retryAfter !== undefined) return { ...body, retryAfter }
  if (freeFrom) return { ...body, freeFrom: freeFrom.toISOString() }
  return errors ? { ...body, valid: false, errors, ids } : body
}

export const limitHeaders = [
  'RateLimit',
  'RateLimit-Policy',
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
]

/** Routes use the `sendRefusal` of their own `routeRefusals`, which takes only the refusals that they name. */
export const sendRefusal = (reply: FastifyReply, refusal: DetailedRefusal) => {
  const { status, ...rest } = refusals[refusal.refused]
  const retryAfter = refusal.retryAfter ?? ('retryAfter' in rest ? rest.retryAfter : undefined)
  if (retryAfter !== undefined) reply.header('Retry-After', retryAfter)
  // A refusal with its own `retryAfter` comes from another limit than the one whose headers the route has set.
  if (refusal.retryAfter !== undefined) for (const name of limitHeaders) reply.removeHeader(name)
  reply.refused = refusal.refused
  const requestId = reply.request.id
  const body =
    isForPrograms(reply.request) && refusal.refused !== 'not_found'
      ? protocolBodyOf(refusal.refused, refusal.message ?? rest.message)
      : bodyOf(refusal, requestId)
  return reply.header(requestIdHeader, requestId).status(status).send(body)
}

/** The refusal for each of Fastify's own codes, before any handler of ours sees the request. */
const frameworkRefusals: Record<string, RefusalCode> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'too_large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'bad_request',
  FST_ERR_BAD_URL: 'not_found',
  FST_ERR_ASYNC_CONSTRAINT: 'not_found',
  FST_ERR_MAX_PARAM_LENGTH: 'not_found',
}

/** What the schema of the route says about the part of the request that does not fit. */
const schemaOfFault = ({ routeOptions: { schema } }: FastifyRequest, { validationContext }: FastifyError) =>
  (schema as Partial<Record<string, Schema>> | undefined)?.[validationContext ?? '']

const refusalFor = (error: FastifyError, request: FastifyRequest): DetailedRefusal => {
  if (error instanceof StoreUnavailable || isUnusableTable(error)) return refuse('unavailable')
  if (error instanceof ActorRefused) return refuse(error.refused)
  // The row that a foreign key refers to, nearly always the user, was deleted while the request was under way.
  if (isForeignKeyViolation(error)) return refuse('not_authenticated')
  if (error.validation)
    return refuse('bad_request', { message: validationMessage(error, schemaOfFault(request, error)) })
  const frameworkRefusal = frameworkRefusals[error.code]
  if (frameworkRefusal) return refuse(frameworkRefusal)
  return refuse(error.statusCode && error.statusCode < 500 ? 'bad_request' : 'internal')
}

/** The one place that answers failures. Only unexpected ones are logged with their stack. */
export const handleError = (error: FastifyError, request: FastifyRequest, reply: FastifyReply) => {
  const refusal = refusalFor(error, request)
  const logFields = { requestId: request.id, err: error }
  if (refusal.refused === 'internal') request.log.error(logFields, 'request failed')
  if (refusal.refused === 'unavailable') request.log.warn(logFields, 'a store is unavailable')
  return sendRefusal(reply, refusal)
}
