import { STATUS_CODES } from 'node:http'
import type { AdminRole } from '../contract/admin/admin-bodies.js'
import { isRefusalCode, type RefusalCode, refusalCodes, refusals } from '../contract/refusals.js'
import { type WebhookType, webhookBody, webhookTypes } from '../contract/webhooks.js'
import type { RouteFacts } from '../http/route.js'
import { routeRefusals } from '../http/route.js'

/** The credentials that a request needs, from the guards in front of its handler. An empty list means that anyone may call. */
export const securityOf = (facts: Pick<RouteFacts, 'byAccessToken' | 'byCsrfToken' | 'serviceScope'>) => {
  const schemes = {
    ...(facts.byAccessToken && { accessToken: [] }),
    ...(facts.byCsrfToken && { csrfToken: [] }),
    ...(facts.serviceScope && { serviceKey: [] }),
  }
  return Object.keys(schemes).length === 0 ? [] : [schemes]
}

const capitalized = (word: string) => word.charAt(0).toUpperCase() + word.slice(1)

/** `POST /api/auth/verify-email` is `postAuthVerifyEmail`, `GET /api/content/:slug` is `getContentBySlug`. */
export const operationId = ({ method, url }: { method: string | string[]; url: string }) => {
  const [first = ''] = [method].flat()
  const words = url
    .replace(/^\/api\//, '/')
    .replaceAll('/:', '/by-')
    .split(/[/.-]/)
    .filter((word) => word !== '')
  return [first.toLowerCase(), ...words.map(capitalized)].join('')
}

export type Security = readonly Readonly<Record<string, readonly string[]>>[]

const schemeNames: Readonly<Record<string, string>> = {
  accessToken: 'the access token',
  refreshToken: 'the refresh token',
  challenge: 'the challenge cookie',
  csrfToken: 'X-CSRF-Token',
}

const callersByRole: Record<AdminRole, string> = { admin: 'an administrator', support: 'an administrator or support' }

/** The credentials in words. Only a session can be stale, so only for a session it is said that it must be fresh. */
export const needsOf = ({ serviceScope, isSensitive, adminRole }: RouteFacts, security: Security) => {
  if (adminRole)
    return [callersByRole[adminRole], ...security.flatMap(Object.keys).map((name) => schemeNames[name])].join(', ')
  const ways = security.map((schemes) => {
    const names = Object.keys(schemes).map((name) => schemeNames[name] ?? `a service key with \`${serviceScope}\``)
    return [...names, ...(isSensitive && 'accessToken' in schemes ? ['a fresh sign-in'] : [])].join(', ')
  })
  return ways.length === 0 ? 'no sign-in' : ways.join(', or ')
}

/** The description of an operation that has none of its own. */
const describe = (facts: RouteFacts, security: Security) => {
  const limiterSentences = facts.limiters.length > 0 ? [`Limiter: ${facts.limiters.join(', ')}.`] : []
  return [`Needs ${needsOf(facts, security)}.`, ...limiterSentences].join(' ')
}

/** The headers that several answers have, under the names by which the document refers to them. */
const sharedHeaders = {
  RequestId: ['X-Request-Id', 'The id of the request in the log of the service', 'string'],
  RetryAfter: ['Retry-After', 'Seconds to wait before the next try', 'integer'],
  RateLimit: [
    'RateLimit',
    'What is left of the limit, and the seconds until it is whole again: "login";r=4;t=900',
    'string',
  ],
  RateLimitPolicy: ['RateLimit-Policy', 'The limit and its window in seconds: "login";q=5;w=900', 'string'],
  RateLimitLimit: ['RateLimit-Limit', 'The limit', 'integer'],
  RateLimitRemaining: ['RateLimit-Remaining', 'What is left of the limit', 'integer'],
  RateLimitReset: ['RateLimit-Reset', 'Seconds until the limit is whole again', 'integer'],
  SessionCookies: ['Set-Cookie', 'access_token and refresh_token, both HttpOnly and SameSite=Strict', 'string'],
  Location: ['Location', 'The address to go to', 'string'],
  WwwAuthenticate: [
    'WWW-Authenticate',
    'Bearer; with the missing scope if the key is right but may not do this',
    'string',
  ],
} as const satisfies Record<string, readonly [header: string, description: string, type: string]>

type HeaderName = keyof typeof sharedHeaders

const headerComponents = Object.fromEntries(
  Object.entries(sharedHeaders).map(([name, [, description, type]]) => [name, { description, schema: { type } }]),
)

const limitHeaderNames: HeaderName[] = [
  'RateLimit',
  'RateLimitPolicy',
  'RateLimitLimit',
  'RateLimitRemaining',
  'RateLimitReset',
]

type AnswerFacts = { status: number; signsIn: boolean; codes: readonly RefusalCode[] }

const headerNamesFor = (facts: RouteFacts, { status, signsIn, codes }: AnswerFacts): HeaderName[] => {
  const hasRetryAfter =
    status === 429 || codes.some((code) => code === 'too_many_mails' || 'retryAfter' in refusals[code])
  return [
    ...(signsIn ? (['SessionCookies'] as const) : []),
    ...(status >= 300 && status < 400 ? (['Location'] as const) : []),
    ...(hasRetryAfter ? (['RetryAfter'] as const) : []),
    ...(status === 429 ? limitHeaderNames : []),
    ...((status === 401 || status === 403) && facts.serviceScope ? (['WwwAuthenticate'] as const) : []),
  ]
}

/** References to the headers of an answer that follow from its route and its status. */
const headersFor = (facts: RouteFacts, answer: AnswerFacts) =>
  Object.fromEntries(
    headerNamesFor(facts, answer).map((name) => [sharedHeaders[name][0], { $ref: `#/components/headers/${name}` }]),
  )

const isSafe = ({ method }: RouteFacts) => method === 'GET' || method === 'HEAD'

/** Refusals that any request can get: the document has them once for all operations. */
const anyRequestCodes: readonly RefusalCode[] = [
  'https_required',
  'not_found',
  'method_not_allowed',
  'too_large',
  'unsupported_media_type',
  'expectation_failed',
  'unknown_host',
  'headers_too_large',
  'internal',
]

/** The refusals of the guards in front of the handler, whether the route names them or not. */
export const codesOfGuards = (facts: RouteFacts): RefusalCode[] => [
  'bad_request',
  ...(facts.crossSite !== undefined && (!isSafe(facts) || facts.url.startsWith('/api/')) ? [facts.crossSite] : []),
  ...((facts.byAccessToken && !facts.adminRole) || facts.byEnrolment || facts.serviceScope
    ? (['not_authenticated'] as const)
    : []),
  ...(facts.adminRole ? (['not_found', 'fresh_sign_in_required'] as const) : []),
  ...(facts.adminRole === 'admin' ? (['group_required'] as const) : []),
  ...(facts.byCsrfToken || facts.byEnrolment ? (['invalid_csrf_token'] as const) : []),
  ...(facts.isSensitive ? (['fresh_sign_in_required'] as const) : []),
  ...(facts.serviceScope ? (['scope_required', 'too_many_requests', 'too_many_logins'] as const) : []),
  ...(facts.url.includes('/:') ? (['not_found'] as const) : []),
  ...facts.limitCodes,
  ...(facts.isProbe ? [] : (['unavailable'] as const)),
]

export type Responses = Readonly<
  Record<string, { readonly 'x-response-description'?: string; readonly headers?: object }>
>

/** The codes of an answer, from its description. */
export const codesIn = (description: string | undefined): RefusalCode[] =>
  (description ?? '').split(', ').filter(isRefusalCode)

/** The refusals that a route names. */
export const refusalsOf = (ownResponses: Responses) =>
  Object.values(ownResponses).flatMap((response) => codesIn(response['x-response-description']))

/** The responses that a route names, with the refusals of its guards among its own. */
export const completeResponses = (ownResponses: Responses, facts: RouteFacts) => {
  const codes = new Set([...refusalsOf(ownResponses), ...codesOfGuards(facts)])
  // The codes are in the order of the table, so that answers with the same codes are equal.
  const { responses } = routeRefusals(...refusalCodes.filter((code) => codes.has(code)))
  const refusalResponses: Readonly<Record<string, object>> = responses
  const completed = Object.entries(ownResponses).map(([status, each]) => {
    const isRefusal = codesIn(each['x-response-description']).length > 0
    return [
      status,
      isRefusal ? { ...refusalResponses[status], ...(each.headers && { headers: each.headers }) } : each,
    ] as const
  })
  return { ...refusalResponses, ...Object.fromEntries(completed) }
}

type Media = { schema?: { $ref?: string } }
type Answer = { description: string; headers?: object; content?: Record<string, Media> }
type Reference = { $ref: string }
type Operations = Record<string, { responses: Record<string, Answer> }>

const pascalCase = (words: string) =>
  words
    .split(/[^a-z\d]+/i)
    .map((word) => word.charAt(0).toUpperCase() + word.slice(1))
    .join('')

/** `InvalidCsrfTokenOrCrossSite` for refusals, otherwise the name of the body. Then the headers that come with it: `WithSetCookie`. */
const nameOf = ({ description, headers = {}, content }: Answer) => {
  if (description === anyRequestCodes.join(', ')) return 'AnyRequest'
  const codes = codesIn(description)
  const schema = content?.['application/json']?.schema?.$ref?.split('/').at(-1)
  const name = codes.length > 0 ? codes.map(pascalCase).join('Or') : (schema ?? pascalCase(description))
  const namedHeaders = ['Set-Cookie', 'WWW-Authenticate'].filter((header) => header in headers)
  return [name, ...namedHeaders.map((header) => `With${pascalCase(header)}`)].join('')
}

/**
 * An answer that several operations give stands once, under a name, and references take its place. If different answers would have the
 * same name, the answer that is given most often gets the name, and the others stay in their operations.
 */
const shareAnswers = (paths: Record<string, Operations>) => {
  const useCounts = new Map<string, number>()
  for (const operations of Object.values(paths))
    for (const { responses } of Object.values(operations))
      for (const answer of Object.values(responses)) {
        const text = JSON.stringify(answer)
        useCounts.set(text, (useCounts.get(text) ?? 0) + 1)
      }
  const mostUsedFirst = [...useCounts].filter(([, count]) => count > 1).sort(([, one], [, other]) => other - one)
  const textByName = new Map<string, string>()
  for (const [text] of mostUsedFirst) {
    const name = nameOf(JSON.parse(text) as Answer)
    if (!textByName.has(name)) textByName.set(name, text)
  }
  const nameByText = new Map([...textByName].map(([name, text]) => [text, name]))
  const toReference = (answer: Answer): Answer | Reference => {
    const name = nameByText.get(JSON.stringify(answer))
    return name === undefined ? answer : { $ref: `#/components/responses/${name}` }
  }
  const mapValues = <Value, Result>(all: Record<string, Value>, map: (each: Value) => Result): Record<string, Result> =>
    Object.fromEntries(Object.entries(all).map(([key, each]) => [key, map(each)]))
  return {
    paths: mapValues(paths, (operations) =>
      mapValues(operations, (operation) => ({ ...operation, responses: mapValues(operation.responses, toReference) })),
    ),
    responses: Object.fromEntries(
      [...textByName].sort(([one], [other]) => (one < other ? -1 : 1)).map(([name, text]) => [name, JSON.parse(text)]),
    ) as Record<string, Answer>,
  }
}

const header = (name: string, description: string) => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: { type: 'string' },
})

/** Parts that all webhooks have in common, for the components of the document. */
const webhookComponents = {
  parameters: {
    WebhookId: header('webhook-id', 'The same at every attempt, and of this event only'),
    WebhookTimestamp: header('webhook-timestamp', 'When this attempt was made, in seconds'),
    WebhookSignature: header(
      'webhook-signature',
      'As in Standard Webhooks: v1 and the HMAC-SHA256; several signatures while a secret is replaced',
    ),
  },
  responses: {
    WebhookTaken: { description: 'Taken: the webhook is not sent again' },
    WebhooksUnwanted: {
      description: 'No webhooks are wanted any more: nothing is sent until `latchkey webhooks retry` or a restart',
    },
    WebhookNotTaken: { description: 'Not taken: the webhook is sent again later' },
  },
}

const parameters = Object.keys(webhookComponents.parameters).map((name) => ({
  $ref: `#/components/parameters/${name}`,
}))

const responses = {
  '2XX': { $ref: '#/components/responses/WebhookTaken' },
  '410': { $ref: '#/components/responses/WebhooksUnwanted' },
  default: { $ref: '#/components/responses/WebhookNotTaken' },
}

const operationOf = (type: WebhookType) => ({
  post: {
    operationId: `webhook.${type}`,
    summary: webhookTypes[type].when,
    security: [],
    parameters,
    requestBody: { required: true, content: { 'application/json': { schema: webhookBody(type) } } },
    responses,
  },
})

/** The requests that we send to WEBHOOK_URL, as OpenAPI describes them. */
export const webhookOperations = () =>
  Object.fromEntries((Object.keys(webhookTypes) as WebhookType[]).map((type) => [type, operationOf(type)]))

type RequestBody = { required: boolean; content: Record<string, { schema: { type?: string | string[] } }> }
type Operation = {
  operationId?: string
  requestBody?: RequestBody
  description?: string
  security?: Record<string, string[]>[]
  tags?: string[]
  responses: Record<string, Answer>
}
type Paths = Record<string, Record<string, Operation>>

/** Each code with its status and its sentence. The answers of limits (429) are left out: they have no code. */
const CompleteDocumentRefusalCode = {
  type: 'string',
  oneOf: refusalCodes
    .filter((code) => refusals[code].status !== 429)
    .map((code) => ({ const: code, description: `${refusals[code].status}: ${refusals[code].message}` })),
}

/**
 * The answer with the codes that any request can get. `codesIn` reads the codes from the description. Every refusal has
 * X-Request-Id, so the document names this header here only.
 */
const anyRequestAnswer: Answer = {
  description: anyRequestCodes.join(', '),
  headers: { 'X-Request-Id': { $ref: '#/components/headers/RequestId' } },
  content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
}

const completeAnswer = (status: string, answer: Answer, facts: RouteFacts): Answer => {
  const codes = codesIn(answer.description)
  const signsIn = answer.content?.['application/json']?.schema?.$ref?.endsWith('/SignedIn') ?? false
  // @fastify/swagger writes `Default Response` if the route gives this answer no description.
  const description = answer.description === 'Default Response' ? STATUS_CODES[status] : undefined
  const headers = { ...headersFor(facts, { status: Number(status), signsIn, codes }), ...answer.headers }
  return {
    ...answer,
    description: description ?? answer.description,
    ...(Object.keys(headers).length > 0 && { headers }),
  }
}

/** A body that may be null can be left out. @fastify/swagger says of every body that it is required. */
const completeBody = (body: RequestBody): RequestBody => {
  const canBeNull = Object.values(body.content).some(({ schema }) => schema.type?.includes('null'))
  return { ...body, required: !canBeNull }
}

const completeOperation = (operation: Operation, facts: RouteFacts): Operation => {
  const answers = Object.entries({ ...operation.responses, default: anyRequestAnswer }).map(
    ([status, answer]) => [status, completeAnswer(status, answer, facts)] as const,
  )
  return {
    // The operation's own description replaces this one.
    description: describe(facts, operation.security ?? []),
    ...operation,
    ...(operation.requestBody && { requestBody: completeBody(operation.requestBody) }),
    responses: Object.fromEntries(answers),
  }
}

type Components = { schemas: Readonly<Record<string, unknown>> }

/** Adds what the schemas do not say: what each operation needs, the headers of its answers, the meaning of each code. */
export const completeDocument = <Document extends { paths: unknown; components: Components }>(
  document: Document,
  factsByOperation: ReadonlyMap<string, RouteFacts>,
  tags: Readonly<Record<string, string>>,
) => {
  const describeTag = (name: string) => {
    const description = tags[name]
    if (description === undefined) throw new Error(`The tag "${name}" has no description`)
    return { name, description }
  }
  const completeIfKnown = (operation: Operation) => {
    const facts = factsByOperation.get(operation.operationId ?? '')
    return facts ? completeOperation(operation, facts) : operation
  }
  const completePaths = Object.fromEntries(
    Object.entries(document.paths as Paths).map(([path, operations]) => [
      path,
      Object.fromEntries(Object.entries(operations).map(([method, each]) => [method, completeIfKnown(each)] as const)),
    ]),
  )
  const usedTags = Object.values(completePaths).flatMap((operations) =>
    Object.values(operations).flatMap(({ tags = [] }) => tags),
  )
  const { paths, responses } = shareAnswers(completePaths)
  return {
    ...document,
    tags: [...new Set(usedTags)].map(describeTag),
    paths,
    components: {
      ...document.components,
      schemas: { ...document.components.schemas, RefusalCode: CompleteDocumentRefusalCode },
      parameters: webhookComponents.parameters,
      responses: { ...responses, ...webhookComponents.responses },
      headers: headerComponents,
    },
  }
}
