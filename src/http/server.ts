import {
  createServer as createHttpServer,
  type Server as HttpServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
  STATUS_CODES,
} from 'node:http'
import { Server as NetServer, type Socket } from 'node:net'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import { type FastifyBaseLogger, type FastifyReply, type FastifyRequest, fastify, LogController } from 'fastify'
import { type Refused, refuse } from '../contract/outcome.js'
import { type RefusalCode, refusals } from '../contract/refusals.js'
import type { LimiterName } from '../domain/limiters/limiters.js'
import type { UsedKey } from '../domain/service-keys/service-keys.js'
import { seconds } from '../lib/durations.js'
import { isCleanText, parseStrictJson } from '../lib/strict-json.js'
import { withTimeout } from '../lib/with-timeout.js'
import type { Log } from '../platform/log.js'
import { type AllowedOrigins, noOtherOrigins } from './allowed-origins.js'
import { createProxyWatch } from './client.js'
import { refuseCrossSite } from './cross-site.js'
import { bodyOf, handleError, sendRefusal } from './errors.js'
import { securityHeaders } from './headers.js'
import { createOwnHosts } from './own-hosts.js'
import { createRequestIds, requestIdHeader } from './request-ids.js'
import { compileSchemasWhenNeeded } from './schema-compilers.js'

export type Server = ReturnType<typeof createServer>['server']

/** While draining, health answers 503; while closing, every answer closes its connection. */
export type DrainState = { isDraining: boolean; isClosing: boolean }

/** Answers a request in front of the framework and returns true, or leaves it to the framework. */
export type FastLane = (request: IncomingMessage, response: ServerResponse) => boolean

export type ServerOptions = {
  log: Log
  production: boolean
  publicUrl: string
  allowedOrigins?: AllowedOrigins
  trustProxy: readonly string[] | undefined
  /** Names that a development service answers for, besides those of this machine and of PUBLIC_URL. */
  developmentHosts?: readonly string[]
  fastLane?: FastLane
}

const bodyLimit = 16 * 1024

const wholeAnswer = (refusal: Refused<RefusalCode>, headers: Readonly<Record<string, string>>) => {
  const body = JSON.stringify(bodyOf(refusal))
  const length = Buffer.byteLength(body)
  const type = 'application/json; charset=utf-8'
  return { body, headers: { ...headers, 'content-type': type, 'content-length': length, connection: 'close' } }
}

/** What the HTTP parser refuses never becomes a request: it is answered on the socket itself, with the same headers. */
const answerOnSocket = (socket: Socket, refusal: Refused<RefusalCode>, security: Readonly<Record<string, string>>) => {
  const { headers, body } = wholeAnswer(refusal, security)
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  const { status } = refusals[refusal.refused]
  const statusLine = `HTTP/1.1 ${status} ${STATUS_CODES[status]}`
  if (socket.writable) socket.end(`${[statusLine, ...lines].join('\r\n')}\r\n\r\n${body}`)
  else socket.destroy()
}

const withoutQuery = (url: string) => url.split('?', 1)[0] ?? ''

/** A pattern for a path with parameters, so that a known path with another method is 405 and not 404. */
const asPattern = (url: string) =>
  new RegExp(
    `^${url
      .replaceAll(/[.+]/g, '\\$&')
      .replaceAll(/:[^/]+/g, '[^/]+')
      .replaceAll('*', '.*')}$`,
  )

const createLimitedServer = (framework: RequestListener, answersInFront: FastLane) => {
  const limits = {
    maxHeaderSize: 12 * 1024,
    headersTimeout: 8 * seconds,
    requestTimeout: 10 * seconds,
    keepAliveTimeout: 75 * seconds,
    connectionsCheckingInterval: 2 * seconds,
    // Refused below, with our own headers and body.
    requireHostHeader: false,
  }
  const answering = new WeakMap<Socket, ServerResponse>()
  const server = createHttpServer(limits, (request, response) => {
    if (answersInFront(request, response)) return
    answering.set(request.socket, response)
    framework(request, response)
  })
  // Node would drop all header lines after the 2,000th without a word, and X-Forwarded-For may be among them. The bytes are
  // bounded above.
  server.maxHeadersCount = 0
  // A client that neither sends nor reads for so long is cut off. One that waits for an answer is not: a hash may take longer
  // on a busy machine. What a client sends slowly is bounded above.
  server.setTimeout(15 * seconds, (socket) => {
    const response = answering.get(socket)
    if (!response || response.headersSent) socket.destroy()
  })
  return server
}

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
      answerOnSocket(
        socket,
        refuse(error.code === 'HPE_HEADER_OVERFLOW' ? 'headers_too_large' : 'bad_request'),
        headers,
      )
    },
    frameworkErrors: (error, request, reply) => {
      reply.headers(headers)
      handleError(error, request, reply)
    },
  }).withTypeProvider<TypeBoxTypeProvider>()

const isCleanRecord = (record: unknown) =>
  Object.values(record ?? {}).every((value) => typeof value !== 'string' || isCleanText(value))

/** Any other expectation than 100-continue. Node would answer without our headers and body. */
const refuseExpectations = (server: HttpServer, security: Readonly<Record<string, string>>) =>
  server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => {
    const { headers, body } = wholeAnswer(refuse('expectation_failed'), security)
    response.writeHead(refusals.expectation_failed.status, headers).end(body)
  })

/** HTTP/1.1 requires the header (RFC 9112, 3.2). */
const lacksHost = ({ headers, raw }: FastifyRequest) => headers.host === undefined && raw.httpVersion === '1.1'

/**
 * The port closes first: new connections are refused, so that a proxy uses another instance. Connections that a proxy has
 * kept open stay for a moment; a request on one of them is answered, and then its connection closes. Node itself would
 * close idle connections at once, and cut off a request that is just arriving.
 */
const createDrain =
  (server: HttpServer, state: { isClosing: boolean }) =>
  async ({ lastCalls, limit }: { lastCalls: number; limit: number }) => {
    state.isClosing = true
    const quiet = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()))
    await withTimeout(quiet, lastCalls, () => undefined)
    const closeIdle = () => server.closeIdleConnections()
    closeIdle()
    const sweep = setInterval(closeIdle, 100)
    await withTimeout(quiet, limit, () => server.closeAllConnections())
    clearInterval(sweep)
  }

/** Limits, parsing, headers, logging and the answers that belong to no route. The app adds the routes. */
export const createServer = (options: ServerOptions) => {
  const headers = securityHeaders(options.production)
  const routes = new Map<string, { pattern: RegExp; methods: Set<string> }>()
  const state: DrainState = { isDraining: false, isClosing: false }
  const proxyWatch = createProxyWatch({
    trustsProxy: (options.trustProxy?.length ?? 0) > 0,
    warn: () =>
      options.log.warn(
        'Every request comes from one private address with X-Forwarded-For: set TRUST_PROXY, or all limits count one client',
      ),
  })
  const { fastLane, log } = options
  const isOwnHost = options.production
    ? () => true
    : createOwnHosts({ publicUrl: options.publicUrl, more: options.developmentHosts ?? [] })
  const isForeignHost = ({ host }: IncomingHttpHeaders) => host !== undefined && !isOwnHost(host)
  // The hooks below do more than the lane when checks are logged, while the proxy is watched and during a shutdown.
  const mayUseLane = !log.isLevelEnabled('debug')
  const answersInFront: FastLane = (request, response) =>
    mayUseLane &&
    !state.isClosing &&
    proxyWatch.isDone() &&
    !isForeignHost(request.headers) &&
    (fastLane?.(request, response) ?? false)
  const server = createInstance(options, headers, answersInFront)

  // These fields hold no secret, and looking for one in them would take longer than writing them (35 µs of 42).
  const requestLog = options.log.child({}, { redact: { paths: [] } })

  server.decorateRequest('serviceKey', undefined)
  server.decorateReply('refused', undefined)
  compileSchemasWhenNeeded(server)
  refuseExpectations(server.server, headers)
  server.removeAllContentTypeParsers()
  server.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_request, body: Buffer, done) => {
    const parsed = parseStrictJson(body)
    if (parsed) done(null, parsed.value)
    else done(Object.assign(new Error('The body is not acceptable JSON'), { statusCode: 400 }))
  })

  server.addHook('onRoute', ({ url, method }) => {
    const route = routes.get(url) ?? { pattern: asPattern(url), methods: new Set() }
    for (const each of [method].flat()) route.methods.add(each)
    routes.set(url, route)
  })
  // The fast lane (flows/access-check) passes by these hooks: what a new one does, it must do too, or decline.
  server.addHook('onRequest', async (request, reply) => {
    reply.headers(headers)
    // Access checks and others that are not logged have none, unless they are refused: it would lead nowhere.
    if (!request.routeOptions.config.quiet) reply.header(requestIdHeader, request.id)
    if (state.isClosing) reply.header('connection', 'close')
    if (lacksHost(request)) return sendRefusal(reply.header('connection', 'close'), refuse('bad_request'))
    if (isForeignHost(request.headers)) return sendRefusal(reply, refuse('unknown_host'))
    proxyWatch.look(request)
    return undefined
  })
  const { publicUrl, allowedOrigins = noOtherOrigins } = options
  server.addHook('onRequest', allowedOrigins.grant)
  server.addHook('onRequest', refuseCrossSite({ publicUrl, allowedOrigins }))
  server.addHook('preValidation', async (request, reply) =>
    isCleanRecord(request.params) && isCleanRecord(request.query)
      ? undefined
      : sendRefusal(reply, refuse('bad_request')),
  )
  server.addHook('onResponse', async (request, reply) => {
    const level = request.routeOptions.config.quiet ? 'debug' : 'info'
    if (!log.isLevelEnabled(level)) return
    const { id: requestId, method, ip, serviceKey } = request
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
      },
      'request',
    )
  })
  server.setErrorHandler(handleError)

  /** 405 if the path is known with another method; otherwise a page for browsers and an error for programs. */
  const answerUnknown = (page: (request: FastifyRequest, reply: FastifyReply) => FastifyReply) =>
    server.setNotFoundHandler((request, reply) => {
      const path = withoutQuery(request.url)
      const known = [...routes.values()].filter(({ pattern }) => pattern.test(path))
      const methods = [...new Set(known.flatMap(({ methods }) => [...methods]))].sort()
      if (methods.length > 0 && !methods.includes(request.method))
        return sendRefusal(reply.header('Allow', methods.join(', ')), refuse('method_not_allowed'))
      const isPerson = request.method === 'GET' && (request.headers.accept ?? '').includes('text/html')
      return isPerson && !path.startsWith('/api/') ? page(request, reply) : sendRefusal(reply, refuse('not_found'))
    })

  return { server, state, answerUnknown, drain: createDrain(server.server, state) }
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The key of the program that sent the request, once it is checked. */
    serviceKey: UsedKey | undefined
  }
  interface FastifyReply {
    /** The code of the refusal that was sent, for the log and the metrics. */
    refused: RefusalCode | undefined
  }
  interface FastifyContextConfig {
    /** Called so often that it is logged only at the debug level. */
    quiet?: boolean
    /** Called by load balancers and supervisors, not through the proxy. */
    probe?: boolean
    /** The answer to a request from another site's page, where 403 would be wrong. */
    crossSite?: Refused<RefusalCode>
    /** The limiters in which its handler counts. Those of its hooks are known. */
    countsIn?: readonly LimiterName[]
    /** Why it has no limiter. */
    unlimited?: string
  }
}
