import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import ipaddr from 'ipaddr.js'
import { Type } from 'typebox'
import { agePattern, applicationIdPattern, applicationProperties } from '../contract/configuration.js'
import { groupPattern } from '../contract/groups.js'
import { type Refused, refuse } from '../contract/outcome.js'
import type { InvalidFields } from '../contract/profile-fields.js'
import type { FreshSignInRequired, PasswordRejected } from '../contract/refusal-bodies.js'
import { type RefusalCode, refusals } from '../contract/refusals.js'
import { uuidPattern } from '../lib/uuid.js'
import {
  ActorRefused,
  isForeignKeyViolation,
  isUnusableTable,
  StoreUnavailable,
} from '../platform/database/database.js'
import { isForPrograms } from './exempt-routes.js'

export const requestIdHeader = 'x-request-id'

/** Only UUIDs are accepted: events are stored with the id of their request, and any other text would end up in every log. */
const wellFormed = /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/

type Range = ReturnType<typeof ipaddr.parseCIDR>

const parseRange = (text: string): Range => {
  if (text.includes('/')) return ipaddr.parseCIDR(text)
  const address = ipaddr.parse(text)
  return [address, address.kind() === 'ipv4' ? 32 : 128]
}

const isIn = (address: ipaddr.IPv4 | ipaddr.IPv6, [network, bits]: Range) =>
  address.kind() === network.kind() && address.match(network, bits)

/** Whether an address is that of a proxy in TRUST_PROXY. */
export const createIsProxy = (trustProxy: readonly string[] = []) => {
  const trusted = trustProxy.map(parseRange)
  return (peer = '') => ipaddr.isValid(peer) && trusted.some((range) => isIn(ipaddr.process(peer), range))
}

/**
 * Chooses the id of a request. If a trusted proxy sends an id, that id is used, so that the lines of its log and of ours belong together.
 * An id from any other sender is ignored: a client could give its requests the ids of other requests.
 */
export const createRequestIds = (trustProxy: readonly string[] = []) => {
  const isProxy = createIsProxy(trustProxy)
  return ({ headers, socket }: IncomingMessage) => {
    const sentId = headers[requestIdHeader]
    const isUsable = typeof sentId === 'string' && wellFormed.test(sentId) && isProxy(socket.remoteAddress)
    return isUsable ? sentId : randomUUID()
  }
}

/** The error codes of RFC 6749 (5.2), RFC 6750 (3.1), RFC 7009 (2.2.1), RFC 8628 (3.5) and RFC 8707 (2). */
export type ProtocolErrorCode =
  | 'invalid_request'
  | 'invalid_client'
  | 'invalid_grant'
  | 'invalid_scope'
  | 'invalid_target'
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

type Fault = NonNullable<FastifyError['validation']>[number]
/** A JSON schema. */
type Schema = { readonly [key: string]: unknown }

/** What a text must be, by the pattern of its schema. For any other pattern, the description of the schema says it. */
const patternRules: Readonly<Record<string, string>> = {
  [uuidPattern]: 'must be a UUID in small letters, as the service gives it',
  [groupPattern]:
    'must be the name of a group: 1 to 32 characters, small letters, digits, dots, underscores and hyphens, with a letter or a digit first',
  [agePattern]: `must be ${applicationProperties.maxAge.must}`,
  [applicationIdPattern]: `must be ${applicationProperties.id.must}`,
  '\\S': 'must not be empty',
}

const typeNames: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  integer: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  array: 'a list',
  null: 'null',
}

const typeName = (type: unknown) => typeNames[String(type)] ?? String(type)

const oneOf = (values: readonly unknown[]) =>
  [values.slice(0, -1).join(', '), ...values.slice(-1)].filter(Boolean).join(' or ')

/** The parts of a JSON pointer, such as `#/properties/limit/pattern`. */
const pointerParts = (pointer: string) =>
  pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))

/** The schema that has the keyword at this place. */
const schemaWith = (keywordPlace: string, root: Schema) =>
  pointerParts(keywordPlace)
    .slice(0, -1)
    .reduce((schema, part) => (schema[part] ?? {}) as Schema, root)

const patternRule = (pattern: string, { description }: Schema) => {
  const rule = patternRules[pattern]
  if (rule !== undefined) return rule
  return typeof description === 'string' ? `is not valid: ${description}` : 'has characters that are not allowed here'
}

const itemsName = (items: unknown) => ((items as Schema | undefined)?.pattern === groupPattern ? 'groups' : 'entries')

type SentenceEnd = (fault: Fault, faultsAtSamePlace: readonly Fault[], schema: Schema) => string

/** Of alternatives: the values and the types that are possible. */
const mustBeOneOf: SentenceEnd = (_, faults) => {
  const values = faults.flatMap(({ params }) => params.allowedValue ?? [])
  const types = faults.flatMap(({ params }) => params.type ?? []).map(typeName)
  return `must be ${oneOf([...values, ...types])}`
}

/** By the keyword of the schema: the sentence about a value, after its name. */
const sentenceEnds: Readonly<Record<string, SentenceEnd>> = {
  type: mustBeOneOf,
  const: mustBeOneOf,
  enum: ({ params }) => `must be ${oneOf([params.allowedValues].flat())}`,
  minLength: ({ params }) =>
    params.limit === 1 ? 'must not be empty' : `must have at least ${String(params.limit)} characters`,
  maxLength: ({ params }) => `has more than ${String(params.limit)} characters`,
  maxItems: ({ params }, _, { items }) => `has more than ${String(params.limit)} ${itemsName(items)}`,
  uniqueItems: () => 'has an entry twice',
  maxProperties: ({ params }) => `has more than ${String(params.limit)} entries`,
  pattern: ({ params }, _, schema) => patternRule(String(params.pattern), schema),
}

/**
 * A sentence about a request that does not fit the schema of its route. It names the property and what it must be, never its value.
 * Undefined if no property is at fault.
 */
const validationMessage = ({ validation = [], validationContext }: FastifyError, schema: Schema = {}) => {
  // Each alternative of a schema has reported a fault. That of an alternative with the right type says most.
  const faults = validation.filter(({ keyword }) => keyword !== 'anyOf')
  const fault = faults.find(({ keyword }) => keyword !== 'type' && keyword !== 'const') ?? faults[0]
  if (!fault) return undefined
  const { keyword, instancePath, schemaPath } = fault
  const name = pointerParts(instancePath).join('.')
  if (keyword === 'required')
    return [name, `${String(fault.params.missingProperty)} is missing`].filter(Boolean).join('.')
  if (name === '') return 'The body must be a JSON object'
  // A parameter that is given twice is a list.
  if (keyword === 'type' && validationContext === 'querystring') return `${name} is given more than once`
  const atSamePlace = faults.filter((each) => each.instancePath === instancePath)
  const end = sentenceEnds[keyword]?.(fault, atSamePlace, schemaWith(schemaPath, schema))
  return end && `${name} ${end}`
}

/**
 * A refusal with what its body may add to the table: a more exact message, what is wrong with a password or with fields, the methods of
 * a proof, or the date from which another username is allowed.
 */
type DetailedRefusal = Refused<RefusalCode> & {
  message?: string
  retryAfter?: number
  freeFrom?: Date
  /** What is wrong with a value of an application or a setting, and the value. */
  fault?: string
  value?: string
} & Partial<PasswordRejected> &
  Partial<FreshSignInRequired> &
  Partial<InvalidFields>

/** An operator has to solve these, and finds the request by its id. */
const refusalsWithRequestId: readonly RefusalCode[] = [
  'unknown_application',
  'program_not_allowed',
  'program_document_refused',
  'redirect_not_registered',
]

/** A failure on our side has the id of the request, which leads to its lines in the log. */
export const bodyOf = (
  { refused, message, errors, ids, methods, retryAfter, freeFrom, fields, fault, value }: DetailedRefusal,
  requestId?: string,
) => {
  const { status, error, message: defaultMessage } = refusals[refused]
  const body = { error, message: message ?? errors?.[0] ?? defaultMessage, code: refused }
  if ((status >= 500 || refusalsWithRequestId.includes(refused)) && requestId !== undefined)
    return { ...body, requestId }
  if (methods) return { ...body, methods }
  if (fields) return { ...body, fields }
  if (refused === 'invalid_configuration')
    return { ...body, fault: fault ?? 'bad_value', ...(value !== undefined && { value }) }
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

type RouteSchema = { readonly body?: unknown; readonly querystring?: unknown }

/** The longest part of an unknown name that the message repeats. */
const longestName = 64

const knownNames = (schema: unknown) => Object.keys((schema as { properties?: object } | undefined)?.properties ?? {})

/** The message about the first name that the schema does not have; undefined if it has all of them. */
const unknownName = (place: 'body' | 'query', given: unknown, schema: unknown) => {
  if (typeof given !== 'object' || given === null || Array.isArray(given)) return undefined
  const known = knownNames(schema)
  const unknown = Object.keys(given).find((name) => !known.includes(name))
  if (unknown === undefined) return undefined
  const taken = known.length > 0 ? `it takes ${known.join(', ')}` : 'it takes nothing'
  return `${unknown.slice(0, longestName)} is not known in the ${place} of this request: ${taken}`
}

const isClosed = (schema: unknown) =>
  (schema as { additionalProperties?: unknown } | undefined)?.additionalProperties === false

/**
 * Refuses what a request does not take, if a program with a service key sends it or if the schema of its body is closed. A change that was
 * misspelt and answered with success would be believed. Other requests come from pages, for which unknown properties are removed
 * (docs/decisions.md).
 */
export const refuseUnknownProperties = (request: FastifyRequest, reply: FastifyReply) => {
  const { body, querystring }: RouteSchema = { ...request.routeOptions.schema }
  if (!request.serviceKey && !isClosed(body)) return undefined
  const message = unknownName('query', request.query, querystring) ?? unknownName('body', request.body, body)
  return message === undefined ? undefined : sendRefusal(reply, refuse('bad_request', { message }))
}
