import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import { type FastifyBaseLogger, type FastifyInstance, type FastifyRequest, fastify, LogController } from 'fastify'
import { requireAdminGuard } from '../admin/admin-guard.js'
import { type Refused, refuse } from '../contract/outcome.js'
import type { RefusalCode } from '../contract/refusals.js'
import { isCleanText, parseStrictJson } from '../lib/strict-json.js'
import type { Log } from '../platform/log.js'
import type { UsedKey } from '../programs/service-keys.js'
import { type AllowedOrigins, noOtherOrigins } from './allowed-origins.js'
import { refuseCrossSite } from './cross-site.js'
import { handleError, sendRefusal } from './errors.js'
import { acceptForms } from './forms.js'
import { accessCheckHeaders, securityHeaders } from './headers.js'
import { createDrain, createLimitedServer, type FastLane } from './limited-server.js'
import type { LimiterName } from './limiters.js'
import { createOwnHosts } from './own-hosts.js'
import { createProxyWatch } from './proxy-watch.js'
import { answerOnSocket, refuseExpectations } from './raw-answers.js'
import { createRequestIds, requestIdHeader } from './request-ids.js'
import { logRequests } from './request-log.js'
import { compileSchemasWhenNeeded, type SchemaCompilers } from './schema-compilers.js'
import { createUnknownAddresses } from './unknown-addresses.js'
import { refuseUnknownProperties } from './unknown-properties.js'

export type Server = ReturnType<typeof createServer>['server']

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
  server.addHook('onRoute', requireAdminGuard)
  // The fast lane (access-check) skips these hooks. If a new hook is added, the lane must do the same or decline.
  server.addHook('onRequest', async (request, reply) => {
    reply.headers(request.routeOptions.config.isAccessCheck ? headersOfChecks : headers)
    // `quiet` routes are usually not logged, so a request id would lead nowhere: only their refusals have one.
    if (!request.routeOptions.config.quiet) reply.header(requestIdHeader, request.id)
    if (state.isClosing) reply.header('connection', 'close')
    if (lacksHost(request)) return sendRefusal(reply.header('connection', 'close'), refuse('bad_request'))
    if (!options.production && isForeignHost(request)) return sendRefusal(reply, refuse('unknown_host'))
    proxyWatch.watch(request)
    return undefined
  })
  const { publicUrl, allowedOrigins = noOtherOrigins } = options
  if (!allowedOrigins.isEmpty) server.addHook('onRequest', allowedOrigins.grant)
  server.addHook('onRequest', refuseCrossSite({ publicUrl, allowedOrigins }))
  server.addHook('preValidation', async (request, reply) =>
    isCleanRecord(request.params) && isCleanRecord(request.query)
      ? undefined
      : sendRefusal(reply, refuse('bad_request')),
  )
  server.addHook('preValidation', refuseUnknownProperties)
  logRequests(server, log)
  server.setErrorHandler(handleError)

  return { server, state, answerUnknown, drain: createDrain(server.server, state) }
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The key of the program that sent the request, once it is checked. */
    serviceKey: UsedKey | undefined
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
    /** The route is for our own pages only, and not for those of ALLOWED_ORIGINS. */
    ownOriginOnly?: boolean
    /** The limiters in which the handler counts. Those of the hooks need not be named. */
    countsIn?: readonly LimiterName[]
    /** The reason why the route has no limiter. */
    unlimited?: string
  }
}
