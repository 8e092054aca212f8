import type { Server as HttpServer, IncomingMessage, ServerResponse } from 'node:http'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import type {
  FastifyBaseLogger,
  FastifyContextConfig,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  FastifySchemaCompiler,
  onSendAsyncHookHandler,
  RouteOptions as RegisteredRoute,
  RouteHandlerMethod,
} from 'fastify'
import { type Static, type TSchema, Type } from 'typebox'
import type { AdminRole } from '../contract/admin/admin-bodies.js'
import type { LimitCode } from '../contract/limits.js'
import { isRefused, type Refused, refuse } from '../contract/outcome.js'
import { InvalidFields } from '../contract/profile-fields.js'
import {
  ErrorBody,
  FailureBody,
  FreshSignInRequired,
  InvalidConfiguration,
  Limited,
  LoginLimited,
  PasswordRejected,
  TooManyMails,
  TooManyUsernames,
} from '../contract/refusal-bodies.js'
import { type RefusalCode, refusals } from '../contract/refusals.js'
import type { ServiceScope } from '../contract/service.js'
import { sendRefusal } from './errors.js'
import { isAdminPath } from './exempt-routes.js'
import type { LimiterName } from './limiters.js'

/** The server that routes register at. */
export type Server = FastifyInstance<
  HttpServer,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>

/** The refusals whose bodies have another shape than the usual one. */
const otherBodies = {
  too_many_logins: LoginLimited,
  too_many_requests: Limited,
  too_many_attempts: Limited,
  password_rejected: PasswordRejected,
  invalid_fields: InvalidFields,
  fresh_sign_in_required: FreshSignInRequired,
  too_many_mails: TooManyMails,
  invalid_configuration: InvalidConfiguration,
  too_many_usernames: TooManyUsernames,
  unknown_application: FailureBody,
  program_not_allowed: FailureBody,
  program_document_refused: FailureBody,
  redirect_not_registered: FailureBody,
} as const satisfies Partial<Record<RefusalCode, object>>

const hasOtherBody = (code: RefusalCode): code is keyof typeof otherBodies => Object.hasOwn(otherBodies, code)

const bodyFor = (code: RefusalCode) => {
  if (hasOtherBody(code)) return otherBodies[code]
  return refusals[code].status >= 500 ? FailureBody : ErrorBody
}

const sizeOf = (body: ReturnType<typeof bodyFor>) => Object.keys(body.properties).length

/** Refusals with one status may have different bodies. The largest body comes first, because the serialiser takes the first that fits. */
const bodyOfAll = (codes: readonly RefusalCode[]) => {
  const bodies = [...new Set(codes.map(bodyFor))].sort((one, other) => sizeOf(other) - sizeOf(one))
  return bodies.length === 1 ? bodies[0] : Type.Union(bodies)
}

type StatusOf<Code extends RefusalCode> = (typeof refusals)[Code]['status']
type BodyOf<Code extends RefusalCode> = Code extends keyof typeof otherBodies
  ? (typeof otherBodies)[Code]
  : StatusOf<Code> extends 500 | 503
    ? typeof FailureBody
    : typeof ErrorBody
type Responses<Code extends RefusalCode> = { [Each in Code as StatusOf<Each>]: BodyOf<Each> }

/** The refusals of the guards in front of a handler that changes something for a caller. */
export const guardRefusals = [
  'not_authenticated',
  'invalid_csrf_token',
  'cross_site',
  'too_many_requests',
  'unavailable',
] as const satisfies RefusalCode[]

/** The bodies that the schemas of the route let a handler send. */
type BodyTaken<Reply extends FastifyReply> = Parameters<Reply['send']>[0]

/**
 * The refusals of one route, named once: its response schemas come from this list, and a refusal that is not on it does not compile. A
 * guard's refusal must be on the list, too, if it shares its status with another one, because the schema of the status serialises both.
 */
export const routeRefusals = <const Code extends RefusalCode>(...codes: Code[]) => ({
  responses: Object.fromEntries(
    codes.map((code) => {
      const { status } = refusals[code]
      const sameStatus = codes.filter((each) => refusals[each].status === status)
      return [status, { ...bodyOfAll(sameStatus), 'x-response-description': sameStatus.join(', ') }]
    }),
  ) as unknown as Responses<Code>,
  sendRefusal: (reply: FastifyReply, refused: Refused<Code>) => sendRefusal(reply, refused),
  /** Sends the refusal, or the result with this status. */
  answer: <Reply extends FastifyReply>(reply: Reply, result: BodyTaken<Reply> | Refused<Code>, status = 200) =>
    isRefused(result) ? sendRefusal(reply, result as Refused<Code>) : reply.status(status).send(result),
})

/** The guards in front of the handler of a route: the API document and docs/api.md are made of them. */
export type RouteFacts = {
  method: string
  url: string
  /** Whether the route needs an access token. */
  byAccessToken: boolean
  /** Whether the route needs a CSRF token. */
  byCsrfToken: boolean
  /** Whether a sign-in that has to add a factor may call the route, too. */
  byEnrolment: boolean
  /** Whether the session must be fresh. */
  isSensitive: boolean
  /** The role that may call the route; undefined if it is no route of administrators. */
  adminRole: AdminRole | undefined
  /** The scope that the key of another program must have; undefined if the route takes no such key. */
  serviceScope: ServiceScope | undefined
  limiters: readonly LimiterName[]
  /** The reason why there are no limiters. */
  unlimited: string | undefined
  /** The refusals of the limiters among the hooks. */
  limitCodes: readonly LimitCode[]
  /** The refusal of a request from another site's page. Undefined if the route itself decides about these. */
  crossSite: RefusalCode | undefined
  /** Whether load balancers call the route. It answers in any state of the stores. */
  isProbe: boolean
}

type HookFacts = Partial<Omit<RouteFacts, 'method' | 'url' | 'unlimited' | 'crossSite' | 'isProbe'>>
type Hook = (request: FastifyRequest, reply: FastifyReply) => Promise<unknown>

/** A hook in front of a handler, with the refusals that it can give and what the documents say of it. */
export type GuardHook<Code extends RefusalCode = RefusalCode> = Hook & {
  readonly facts: HookFacts
  readonly refusals: readonly Code[]
}

export const guardHook = <const Code extends RefusalCode>(
  facts: HookFacts,
  refusals: readonly Code[],
  hook: Hook,
): GuardHook<Code> => Object.assign(hook, { facts, refusals })

/**
 * The first hook of each request that causes a mail. Where mail is off it refuses before anything is counted or looked up, so the answer is
 * the same for every account and for none.
 */
export const createNeedsMail = (mailIsOff: boolean) =>
  guardHook({}, ['mail_is_off'], async (_, reply) =>
    mailIsOff ? sendRefusal(reply, refuse('mail_is_off')) : undefined,
  )

/** In front of the routes of sign-ins by mail. While these are off, the routes answer as if there were none. */
export const createNeedsMailSignIn = (isOn: () => boolean) =>
  guardHook({}, ['not_found'], async (_, reply) => (isOn() ? undefined : sendRefusal(reply, refuse('not_found'))))

const factsOfHook = (hook: unknown): HookFacts =>
  typeof hook === 'function' && 'facts' in hook ? (hook as GuardHook).facts : {}

/** What stands in front of the handler of a registered route. */
export const factsOf = ({ method, url, onRequest = [], preHandler = [], config = {} }: RegisteredRoute): RouteFacts => {
  const hooks = [onRequest, preHandler].flat().map(factsOfHook)
  const isAny = (fact: 'byAccessToken' | 'byCsrfToken' | 'byEnrolment' | 'isSensitive') =>
    hooks.some((facts) => facts[fact] === true)
  return {
    method: String([method].flat()[0]),
    url,
    byAccessToken: isAny('byAccessToken'),
    byCsrfToken: isAny('byCsrfToken'),
    byEnrolment: isAny('byEnrolment'),
    isSensitive: isAny('isSensitive'),
    adminRole: hooks.find(({ adminRole }) => adminRole)?.adminRole,
    serviceScope: hooks.find(({ serviceScope }) => serviceScope)?.serviceScope,
    limiters: [...new Set([...hooks.flatMap(({ limiters }) => limiters ?? []), ...(config.countsIn ?? [])])],
    unlimited: config.unlimited,
    limitCodes: hooks.flatMap(({ limitCodes }) => limitCodes ?? []),
    crossSite: config.answersProxies ? undefined : (config.crossSite?.refused ?? 'cross_site'),
    isProbe: config.probe ?? false,
  }
}

const declaredHandlers = new WeakSet<object>()

/**
 * Stops the start of the service at a route that was not declared by `route`, that nothing limits without a reason, or that is one of
 * administrators and has no guard.
 */
export const requireDeclaration = (registered: RegisteredRoute) => {
  const { url, limiters, unlimited, adminRole } = factsOf(registered)
  const fault =
    (!declaredHandlers.has(registered.handler) && 'was not declared by route()') ||
    (limiters.length === 0 && unlimited === undefined && 'has no limiter, and no reason why') ||
    (isAdminPath(url) && adminRole === undefined && 'is a route of administrators, and has no guard')
  if (fault) throw new Error(`${url} ${fault}`)
}

type Method = 'DELETE' | 'GET' | 'OPTIONS' | 'PATCH' | 'POST' | 'PUT'
type Answers = Readonly<Record<number, TSchema>>
type StaticOf<Schema> = Schema extends TSchema ? Static<Schema> : undefined

/** What a handler gets. `reply` is for cookies and headers, and for another status than the first of `answers`. */
type Call<Body, Params, Query> = {
  body: StaticOf<Body>
  params: StaticOf<Params>
  query: StaticOf<Query>
  request: FastifyRequest
  reply: FastifyReply
}

/** The description of each header, by the status of the refusal and the name of the header. */
export type RefusalHeaders = Readonly<Record<number, Readonly<Record<string, string>>>>

/** How a route stands in the API document. Not there: pages, what only our own pages use, and what a standard describes. */
type Shown =
  | {
      hidden?: false
      /** The group of the operation. */
      tag: string
      summary: string
      description?: string
    }
  | { hidden: true; tag?: undefined; summary?: undefined; description?: undefined }

type Options<
  GuardCode extends RefusalCode,
  Code extends RefusalCode,
  Given extends Answers,
  Body,
  Params,
  Query,
> = Shown & {
  /** The hooks in front of the handler, in their order: those that ask a store come last, behind the limiter. */
  guard: readonly GuardHook<GuardCode>[]
  body?: Body
  params?: Params
  query?: Query
  /**
   * The refusals of the handler and of the schemas. Those of the guard come first in the document; one that is named here, too, stands in
   * the order of this list.
   */
  refuses: readonly Code[]
  /** The answers by their status. A handler that sets none gets the first. Of a hidden route that answers by itself there are none. */
  answers: Given
  /** Headers of refusals, for the document, by their status. */
  refusalHeaders?: RefusalHeaders
  /** For the document, where the guard does not say it. */
  security?: readonly Readonly<Record<string, readonly string[]>>[]
  /** A hook in front of the check of the body. */
  preValidation?: Hook
  /** Hooks that need the body. */
  preHandler?: Hook | readonly Hook[]
  onSend?: onSendAsyncHookHandler | onSendAsyncHookHandler[]
  /** For a handler that checks its parameters by itself. */
  validatorCompiler?: FastifySchemaCompiler<unknown>
  config?: FastifyContextConfig
  exposeHeadRoute?: boolean
  /** In bytes, for a route that takes more than others. */
  bodyLimit?: number
  /** Returns the body of an answer, or a refusal. A handler that has answered by itself returns the reply. */
  handle: (
    call: Call<Body, Params, Query>,
  ) => Promise<StaticOf<Given[keyof Given]> | Refused<GuardCode | Code> | FastifyReply | undefined>
}

const firstStatus = (answers: Answers) => Object.keys(answers).map(Number)[0]

/**
 * Registers a route: who may call it, what it takes, what it answers and how it is handled, in one place. A refusal that the route does
 * not name does not compile. There is no other way to add one (`requireDeclaration`).
 */
export const route = <
  const GuardCode extends RefusalCode = never,
  const Code extends RefusalCode = never,
  Given extends Answers = Answers,
  Body extends TSchema | undefined = undefined,
  Params extends TSchema | undefined = undefined,
  Query extends TSchema | undefined = undefined,
>(
  server: Server,
  address: `${Method} /${string}`,
  options: Options<GuardCode, Code, Given, Body, Params, Query>,
) => {
  const { guard, hidden, tag, summary, description, body, params, query, answers, security, handle, ...rest } = options
  const { refuses, refusalHeaders = {}, preHandler, ...frameworkOptions } = rest
  const [method, url] = address.split(' ') as [Method, string]
  const ofGuard = guard.flatMap(({ refusals }) => refusals)
  const ofGuardAlone = ofGuard.filter((code) => !(refuses as readonly RefusalCode[]).includes(code))
  const { responses } = routeRefusals<RefusalCode>(...new Set([...ofGuardAlone, ...refuses]))
  const schema = {
    ...(hidden ? { hide: true } : { tags: [tag], summary }),
    ...(description !== undefined && { description }),
    ...(body && { body }),
    ...(params && { params }),
    ...(query && { querystring: query }),
    ...(security && { security }),
    response: { ...answers, ...withRefusalHeaders(responses, refusalHeaders) },
  }
  const status = firstStatus(answers)
  const handler = async (request: FastifyRequest, reply: FastifyReply) => {
    const { body, params, query } = request as Pick<Call<Body, Params, Query>, 'body' | 'params' | 'query'>
    // A status that the handler sets is kept.
    if (status !== undefined) reply.status(status)
    const result = await handle({ body, params, query, request, reply })
    if (result === reply || reply.sent) return reply
    if (isRefused(result)) return sendRefusal(reply, result)
    return reply.send(result)
  }
  declaredHandlers.add(handler)
  server.route({
    ...frameworkOptions,
    method,
    url,
    schema,
    onRequest: [...guard],
    ...(preHandler && { preHandler: [preHandler].flat() }),
    // The types of the call are checked by `handle`; the framework would compute them once more.
    handler: handler as RouteHandlerMethod as never,
  })
}

/** Adds headers to a response schema, for the API document. `headers`: the description of each, by its name. */
export const withHeaders = <Schema extends object>(
  schema: Schema,
  headers: Readonly<Record<string, string>>,
): Schema => {
  if (Object.keys(headers).length === 0) return schema
  const described = Object.entries(headers).map(([name, description]) => [name, { type: 'string', description }])
  return { ...schema, headers: Object.fromEntries(described) }
}

const withRefusalHeaders = (responses: Readonly<Record<number, object>>, headers: RefusalHeaders) =>
  Object.fromEntries(
    Object.entries(responses).map(([status, schema]) => [status, withHeaders(schema, headers[Number(status)] ?? {})]),
  )
