import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { StoreUnavailable } from '../platform/database/database.js'

/** A refusal as the caller sees it: `error` and the finer `code` for programs to compare, `message` for people. */
export type Answer = { status: number; error: string; message: string; code?: string; retryAfter?: number }

export const ErrorBody = Type.Object(
  { error: Type.String(), message: Type.String(), code: Type.Optional(Type.String()) },
  { $id: 'Error', title: 'Error' },
)

/** The answers that more than one route gives. */
export const answers = {
  badRequest: { status: 400, error: 'Bad request', message: 'The request could not be understood' },
  notAuthenticated: { status: 401, error: 'Not authenticated', message: 'Sign in to continue' },
  invalidCredentials: { status: 401, error: 'Invalid credentials', message: 'Username or password is incorrect' },
  invalidLink: {
    status: 400,
    error: 'Invalid or expired link',
    message: 'This link no longer works. Ask for a new one.',
  },
  invalidCsrfToken: { status: 403, error: 'Invalid CSRF token', message: 'Reload the page and try again' },
  crossSite: { status: 403, error: 'Cross-site request', message: 'This request must come from our own pages' },
  notFound: { status: 404, error: 'Not found', message: 'There is nothing at this address' },
  methodNotAllowed: { status: 405, error: 'Method not allowed', message: 'This address does not take that method' },
  expectationFailed: { status: 417, error: 'Expectation failed', message: 'This expectation is not supported' },
  tooLarge: { status: 413, error: 'Too large', message: 'The request is larger than 16 KB' },
  unsupportedMediaType: { status: 415, error: 'Unsupported media type', message: 'Send application/json' },
  headersTooLarge: { status: 431, error: 'Headers too large', message: 'The request headers are too large' },
  internal: { status: 500, error: 'Internal error', message: 'Something went wrong on our side' },
  busy: { status: 503, error: 'Busy', message: 'Too much to do at the moment. Try again shortly.', retryAfter: 2 },
  unavailable: { status: 503, error: 'Temporarily unavailable', message: 'Try again in a moment', retryAfter: 5 },
} as const satisfies Record<string, Answer>

/** What refuses a request before any handler of ours sees it, by Fastify's own codes. */
const frameworkAnswers: Record<string, Answer> = {
  FST_ERR_CTP_BODY_TOO_LARGE: answers.tooLarge,
  FST_ERR_CTP_INVALID_MEDIA_TYPE: answers.unsupportedMediaType,
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: answers.badRequest,
  FST_ERR_BAD_URL: answers.notFound,
  FST_ERR_ASYNC_CONSTRAINT: answers.notFound,
  FST_ERR_MAX_PARAM_LENGTH: answers.notFound,
}

export const sendAnswer = (reply: FastifyReply, answer: Answer, extra: object = {}) => {
  if (answer.retryAfter) reply.header('Retry-After', answer.retryAfter)
  const { status, error, message, code } = answer
  return reply.status(status).send({ error, message, ...(code !== undefined && { code }), ...extra })
}

/** The body was valid JSON of the wrong shape: says which property, and what it must be, never what it was. */
const validationMessage = (error: FastifyError) => {
  const [first] = error.validation ?? []
  const path = first?.instancePath?.slice(1).replaceAll('/', '.') || error.validationContext || 'request'
  return first?.message ? `${path} ${first.message}` : answers.badRequest.message
}

const answerFor = (error: FastifyError): Answer => {
  if (error instanceof StoreUnavailable) return answers.unavailable
  if (error.validation) return { ...answers.badRequest, message: validationMessage(error) }
  const known = frameworkAnswers[error.code]
  if (known) return known
  return error.statusCode && error.statusCode < 500
    ? { ...answers.badRequest, status: error.statusCode }
    : answers.internal
}

/** The one place that answers failures. Only what we did not expect is logged with its stack. */
export const handleError = (error: FastifyError, request: FastifyRequest, reply: FastifyReply) => {
  const answer = answerFor(error)
  if (answer === answers.internal) request.log.error({ requestId: request.id, err: error }, 'request failed')
  else if (answer === answers.unavailable)
    request.log.warn({ requestId: request.id, err: error }, 'a store is unavailable')
  return sendAnswer(reply, answer)
}
