import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { seconds } from '../../lib/durations.js'
import { listeningError } from '../listening.js'

/** What is sent to Prometheus. */
type MetricsSource = { contentType: string; text(): Promise<string> }

const refuse = (response: ServerResponse, status: 404 | 405) => {
  if (status === 405) response.setHeader('allow', 'GET, HEAD')
  response.writeHead(status).end()
}

const answer = async (metrics: MetricsSource, { url = '', method }: IncomingMessage, response: ServerResponse) => {
  if (url.split('?', 1)[0] !== '/metrics') return refuse(response, 404)
  if (method !== 'GET' && method !== 'HEAD') return refuse(response, 405)
  const text = await metrics.text()
  response.writeHead(200, { 'content-type': metrics.contentType, 'cache-control': 'no-store' }).end(text)
}

/** Metrics have a port of their own, so that the public port never serves them by mistake. */
export const startMetricsServer = async (options: { host: string; port: number; metrics: MetricsSource }) => {
  const { host, port, metrics } = options
  const limits = { requestTimeout: 5 * seconds, headersTimeout: 5 * seconds, maxHeaderSize: 8 * 1024 }
  const server = createServer(limits, (request, response) => {
    answer(metrics, request, response).catch(() => response.writeHead(500).end())
  })
  server.maxConnections = 50
  server.maxHeadersCount = 0
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) => reject(listeningError(cause, { host: 'METRICS_HOST', port: 'METRICS_PORT' })))
    server.listen(port, host, resolve)
  })
  return {
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
