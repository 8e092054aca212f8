import { type Server as HttpServer, type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  fastify,
  LogController,
} from 'fastify'
import ipaddr from 'ipaddr.js'
import { type Refused, refuse } from '../contract/outcome.js'
import { type RefusalCode, refusals } from '../contract/refusals.js'
import type { ServiceScope } from '../contract/service.js'
import { seconds } from '../lib/durations.js'
import { isCleanText, parseStrictJson } from '../lib/strict-json.js'
import type { Log } from '../platform/log.js'
import type { Metrics } from '../platform/metrics/metrics.js'
import {
  bodyOf,
  createIsProxy,
  createRequestIds,
  handleError,
  refuseUnknownProperties,
  requestIdHeader,
  sendProtocolError,
  sendRefusal,
} from './errors.js'
import { isAddressForPrograms, isAdminPath } from './exempt-routes.js'
import { acceptForms } from './forms.js'
import { accessCheckHeaders, securityHeaders } from './headers.js'
import { createDrain, createLimitedServer, type FastLane } from './limited-server.js'
import type { LimiterName } from './limiters.js'
import { type AllowedOrigins, createOwnHosts, noOtherOrigins, refuseCrossSite } from './origins.js'
import { requireDeclaration } from './route.js'
import { compileSchemasWhenNeeded, type SchemaCompilers } from './schema-compilers.js'

const withoutQuery = (url: string) => url.split('?', 1)[0] ?? ''

/** Logs one line for each request. Routes that are called very often are logged at the debug level. */
const logRequests = (server: FastifyInstance, log: Log) => {
  // These fields hold no secret, and looking for one in them would take longer than writing them (35 µs of 42).
  const requestLog = log.child({}, { redact: { paths: [] } })
  const logAnswer = (request: FastifyRequest, reply: FastifyReply) => {
    const level = request.routeOptions.config.quiet ? 'debug' : 'info'
    if (!log.isLevelEnabled(level)) return
    const { id: requestId, method, ip, serviceKey, administratorId: actorId } = request
    const milliseconds = Math.round(reply.elapsedTime * 10) / 10
    requestLog[level](
      {
        requestId,
        method,
        path: withoutQuery(request.url),
        status: reply.statusCode,
        ...(reply.refused && { refused: reply.refused }),
        milliseconds,
        ip,
        ...(serviceKey && { serviceKey: serviceKey.name }),
        ...(actorId !== undefined && { actorId }),
      },
      'request',
    )
  }
  server.addHook('onResponse', (request, reply, done) => {
    logAnswer(request, reply)
    done()
  })
}

/** A pattern for a path with parameters, to recognise a known path with another method (405 and not 404). */
const asPattern = (url: string) =>
  new RegExp(
    `^${url
      .replaceAll(/[.+]/g, '\\$&')
      .replaceAll(/:[^/]+/g, '[^/]+')
      .replaceAll('*', '.*')}$`,
  )

const wrongMethod = { error: 'invalid_request', description: refusals.method_not_allowed.message, status: 405 } as const

/** Learns every route that is registered from now on, and answers what belongs to none of them. */
const createUnknownAddresses = (server: FastifyInstance) => {
  const routes = new Map<string, { url: string; pattern: RegExp; methods: Set<string> }>()
  server.addHook('onRoute', ({ url, method }) => {
    const route = routes.get(url) ?? { url, pattern: asPattern(url), methods: new Set() }
    for (const each of [method].flat()) route.methods.add(each)
    routes.set(url, route)
  })

  /** 405 if the path is known with another method, and not for administrators only; otherwise a page for browsers and an error for programs. */
  return (page: (request: FastifyRequest, reply: FastifyReply) => FastifyReply) =>
    server.setNotFoundHandler((request, reply) => {
      const path = withoutQuery(request.url)
      const matchingRoutes = [...routes.values()].filter(({ pattern }) => pattern.test(path))
      const methods = [...new Set(matchingRoutes.flatMap(({ methods }) => [...methods]))].sort()
      const isHidden = matchingRoutes.some(({ url }) => isAdminPath(url))
      if (methods.length > 0 && !methods.includes(request.method) && !isHidden) {
        reply.header('Allow', methods.join(', '))
        return matchingRoutes.some(({ url }) => isAddressForPrograms(url))
          ? sendProtocolError(reply, wrongMethod)
          : sendRefusal(reply, refuse('method_not_allowed'))
      }
      const isPageRequest = request.method === 'GET' && (request.headers.accept ?? '').includes('text/html')
      return isPageRequest && !path.startsWith('/api/') ? page(request, reply) : sendRefusal(reply, refuse('not_found'))
    })
}

/** Time for the client to read a refusal. A client that does not close its end would otherwise keep the connection for ever. */
const lingerTime = 2 * seconds

const wholeAnswer = (refusal: Refused<RefusalCode>, headers: Readonly<Record<string, string>>) => {
  const body = JSON.stringify(bodyOf(refusal))
  const length = Buffer.byteLength(body)
  const type = 'application/json; charset=utf-8'
  return { body, headers: { ...headers, 'content-type': type, 'content-length': length, connection: 'close' } }
}

/**
 * Answers bytes that the HTTP parser refuses. They never become a request, so the answer is written to the socket, with the headers
 * of every answer.
 */
const answerOnSocket = (
  socket: Socket,
  refusal: Refused<RefusalCode>,
  securityHeaders: Readonly<Record<string, string>>,
) => {
  const { headers, body } = wholeAnswer(refusal, securityHeaders)
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  const { status } = refusals[refusal.refused]
  const statusLine = `HTTP/1.1 ${status} ${STATUS_CODES[status]}`
  if (!socket.writable) return socket.destroy()
  socket.end(`${[statusLine, ...lines].join('\r\n')}\r\n\r\n${body}`)
  return setTimeout(() => socket.destroy(), lingerTime).unref()
}

/** Refuses any `Expect` but 100-continue. Node would answer without our headers and body. */
const refuseExpectations = (server: HttpServer, securityHeaders: Readonly<Record<string, string>>) =>
  server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => {
    const { headers, body } = wholeAnswer(refuse('expectation_failed'), securityHeaders)
    response.writeHead(refusals.expectation_failed.status, headers).end(body)
  })

/** This many requests in a row are no coincidence. */
const enoughRequests = 20

const isPrivate = (ip: string) => ipaddr.isValid(ip) && ipaddr.process(ip).range() !== 'unicast'

/**
 * Warns once if the first 20 requests after the start all come from one private IP address with X-Forwarded-For: then there is a proxy
 * that TRUST_PROXY does not name, and all clients share one limit. With any TRUST_PROXY it does not watch.
 */
const createProxyWatch = ({ trustsProxy, warn }: { trustsProxy: boolean; warn: (proxy: string) => void }) => {
  let requestCount = 0
  let firstIp: string | undefined
  let isWatching = !trustsProxy

  const watch = (request: FastifyRequest) => {
    // A health probe connects directly, even if users come through a proxy.
    if (!isWatching || request.routeOptions.config.probe) return
    const ip = request.socket.remoteAddress ?? ''
    firstIp ??= ip
    requestCount += 1
    const isProxied = request.headers['x-forwarded-for'] && isPrivate(ip) && ip === firstIp
    if (isProxied && requestCount === enoughRequests) warn(ipaddr.process(ip).toString())
    isWatching = Boolean(isProxied) && requestCount < enoughRequests
  }
  return { watch, isWatching: () => isWatching }
}

export type { Server } from './route.js'

/** While draining, health answers 503; while closing, every answer closes its connection. */
export type DrainState = { isDraining: boolean; isClosing: boolean }

export type ServerOptions = {
  log: Log
  production: boolean
  publicUrl: string
  allowedOrigins?: AllowedOrigins
  trustProxy: readonly string[] | undefined
  /** Names that a development service answers for, besides those of this machine and of PUBLIC_URL. */
  developmentHosts?: readonly string[]
  fastLane?: FastLane
  schemaCompilers?: SchemaCompilers | undefined
}

const bodyLimit = 16 * 1024

const createInstance = (
  { log, trustProxy }: { log: FastifyBaseLogger; trustProxy: ServerOptions['trustProxy'] },
  headers: Readonly<Record<string, string>>,
  answersInFront: FastLane,
) =>
  fastify({
    serverFactory: (framework) => createLimitedServer(framework, answersInFront),
    loggerInstance: log,
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: createRequestIds(trustProxy),
    // A logger for each request would take a tenth of the time of an access check. Our log lines carry the request id.
    childLoggerFactory: (logger) => logger,
    requestIdHeader: false,
    trustProxy: trustProxy?.length ? [...trustProxy] : false,
    bodyLimit,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    routerOptions: { maxParamLength: 200 },
    clientErrorHandler: (error: NodeJS.ErrnoException, socket: Socket) => {
      if (error.code === 'ECONNRESET') return
      // A browser opens connections before it needs them, and would take a refusal for the answer to its next request.
      if (socket.bytesRead === 0) return void socket.destroy()
      const isTooLarge = error.code === 'HPE_HEADER_OVERFLOW'
      answerOnSocket(socket, refuse(isTooLarge ? 'headers_too_large' : 'bad_request'), headers)
    },
    frameworkErrors: (error, request, reply) => {
      reply.headers(headers)
      handleError(error, request, reply)
    },
  }).withTypeProvider<TypeBoxTypeProvider>()

/** Accepts JSON and no other type of body, except for the forms of `protocolRoutes`. */
const acceptStrictJson = (server: FastifyInstance) => {
  server.removeAllContentTypeParsers()
  server.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body: Buffer, done) => {
    // Many clients name the type although they send no body. The schema of a route that needs a body refuses an empty one.
    const parsed = body.length === 0 ? { value: undefined } : parseStrictJson(body)
    if (parsed) done(null, parsed.value)
    else done(Object.assign(new Error('The body is not acceptable JSON'), { statusCode: 400 }))
  })
}

const isCleanRecord = (record: unknown) =>
  Object.values(record ?? {}).every((value) => typeof value !== 'string' || isCleanText(value))

/** HTTP/1.1 requires the header (RFC 9112, 3.2). */
const lacksHost = ({ headers, raw }: FastifyRequest) => headers.host === undefined && raw.httpVersion === '1.1'

/** A hook that every request passes. It makes no promise: each would be two more rounds of microtasks. */
const unlessRefused =
  (refuseOne: (request: FastifyRequest, reply: FastifyReply) => FastifyReply | undefined) =>
  (request: FastifyRequest, reply: FastifyReply, done: () => void) => {
    if (!refuseOne(request, reply)) done()
  }

/** Limits, parsing, headers, logging and the answers that belong to no route. The app adds the routes. */
export const createServer = (options: ServerOptions) => {
  const headers = securityHeaders(options.production)
  const headersOfChecks = accessCheckHeaders(options.production)
  const state: DrainState = { isDraining: false, isClosing: false }
  const proxyWatch = createProxyWatch({
    trustsProxy: (options.trustProxy?.length ?? 0) > 0,
    warn: (proxy) =>
      options.log.warn(
        { proxy },
        'Every request comes from one private address with X-Forwarded-For: set TRUST_PROXY, or all limits count all clients as one',
      ),
  })
  const { fastLane, log } = options
  const isOwnHost = createOwnHosts({ publicUrl: options.publicUrl, otherNames: options.developmentHosts ?? [] })
  const isForeignHost = ({ headers: { host } }: Pick<IncomingMessage, 'headers'>) =>
    host !== undefined && !isOwnHost(host)
  const isProxy = createIsProxy(options.trustProxy)
  const isFromProxy = ({ routeOptions, socket }: FastifyRequest) =>
    routeOptions.config.answersProxies === true && isProxy(socket.remoteAddress)
  // The hooks below do more than the lane when checks are logged, while the proxy is watched and during a shutdown.
  const mayUseLane = !log.isLevelEnabled('debug')
  const answersInFront: FastLane = (request, response) =>
    mayUseLane &&
    !state.isClosing &&
    !proxyWatch.isWatching() &&
    (options.production || !isForeignHost(request)) &&
    (fastLane?.(request, response) ?? false)
  const server = createInstance(options, headers, answersInFront)

  server.decorateRequest('serviceKey', undefined)
  server.decorateRequest('administratorId', undefined)
  server.decorateReply('refused', undefined)
  compileSchemasWhenNeeded(server, options.schemaCompilers)
  refuseExpectations(server.server, headers)
  acceptStrictJson(server)
  acceptForms(server)
  const answerUnknown = createUnknownAddresses(server)
  server.addHook('onRoute', requireDeclaration)
  // The fast lane (access-check) skips these hooks. If a new hook is added, the lane must do the same or decline.
  const begin = (request: FastifyRequest, reply: FastifyReply) => {
    reply.headers(request.routeOptions.config.isAccessCheck ? headersOfChecks : headers)
    // `quiet` routes are usually not logged, so a request id would lead nowhere: only their refusals have one.
    if (!request.routeOptions.config.quiet) reply.header(requestIdHeader, request.id)
    if (state.isClosing) reply.header('connection', 'close')
    if (lacksHost(request)) return sendRefusal(reply.header('connection', 'close'), refuse('bad_request'))
    if (!options.production && isForeignHost(request) && !isFromProxy(request))
      return sendRefusal(reply, refuse('unknown_host'))
    proxyWatch.watch(request)
    return undefined
  }
  server.addHook('onRequest', unlessRefused(begin))
  const { publicUrl, allowedOrigins = noOtherOrigins } = options
  if (!allowedOrigins.isEmpty) server.addHook('onRequest', allowedOrigins.grant)
  const sites = { publicUrl, allowedOrigins }
  const refuseUncleanText = ({ routeOptions, params, query }: FastifyRequest, reply: FastifyReply) =>
    routeOptions.config.answersProxies || (isCleanRecord(params) && isCleanRecord(query))
      ? undefined
      : sendRefusal(reply, refuse('bad_request'))
  server.addHook(
    'onRequest',
    unlessRefused((request, reply) => refuseCrossSite(sites, request, reply)),
  )
  server.addHook('preValidation', unlessRefused(refuseUncleanText))
  server.addHook('preValidation', unlessRefused(refuseUnknownProperties))
  logRequests(server, log)
  server.setErrorHandler(handleError)

  return { server, state, answerUnknown, drain: createDrain(server.server, state) }
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The key of the program that sent the request, once it is checked. */
    serviceKey: { id: string; name: string; scopes: readonly ServiceScope[] } | undefined
    /** The id of the administrator, or member of support, who sent the request, once that is checked. */
    administratorId: string | undefined
  }
  interface FastifyReply {
    /** The code of the refusal that was sent, for the log and the metrics. */
    refused: RefusalCode | undefined
  }
  interface FastifyContextConfig {
    /** The route is called so often that it is logged only at the debug level. */
    quiet?: boolean
    /** A proxy may copy the answer into that of an application. */
    isAccessCheck?: boolean
    /** Load balancers and supervisors call the route, not through the proxy. */
    probe?: boolean
    /** The answer to a request from another site's page, where 403 would be wrong. */
    crossSite?: Refused<RefusalCode>
    /** The route answers proxies about their visitors: it judges other sites by itself, and host and query may be those of the visitor. */
    answersProxies?: boolean
    /** The route is for our own pages only, and not for those of ALLOWED_ORIGINS. */
    ownOriginOnly?: boolean
    /** The limiters in which the handler counts. Those of the hooks need not be named. */
    countsIn?: readonly LimiterName[]
    /** The reason why the route has no limiter. */
    unlimited?: string
  }
}

/** Counts each answer by the pattern of its route, so that text of a client in the path never becomes a label. */
export const countRequests = (server: FastifyInstance, metrics: Metrics) => {
  server.addHook('onResponse', (request, reply, done) => {
    metrics.countRequest({
      route: request.is404 ? undefined : request.routeOptions.url,
      method: request.method,
      status: reply.statusCode,
      refused: reply.refused,
      milliseconds: reply.elapsedTime,
    })
    done()
  })
}
