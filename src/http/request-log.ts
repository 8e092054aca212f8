import type { FastifyInstance } from 'fastify'
import type { Log } from '../platform/log.js'

export const withoutQuery = (url: string) => url.split('?', 1)[0] ?? ''

/** Logs one line for each request. Routes that are called very often are logged at the debug level. */
export const logRequests = (server: FastifyInstance, log: Log) => {
  // These fields hold no secret, and looking for one in them would take longer than writing them (35 µs of 42).
  const requestLog = log.child({}, { redact: { paths: [] } })
  server.addHook('onResponse', async (request, reply) => {
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
  })
}
