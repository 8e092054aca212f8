import type { Metrics } from '../platform/metrics/metrics.js'
import type { Server } from './server.js'

/** Counts each answer by the pattern of its route, so that text of a client in the path never becomes a label. */
export const countRequests = (server: Server, metrics: Metrics) => {
  server.addHook('onResponse', async (request, reply) => {
    metrics.countRequest({
      route: request.is404 ? undefined : request.routeOptions.url,
      method: request.method,
      status: reply.statusCode,
      refused: reply.refused,
      milliseconds: reply.elapsedTime,
    })
  })
}
