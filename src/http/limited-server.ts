import {
  createServer,
  type Server as HttpServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http'
import { Server as NetServer, type Socket } from 'node:net'
import { seconds } from '../lib/durations.js'
import { withTimeout } from '../lib/with-timeout.js'
import { closeStillConnections } from './still-connections.js'

/** Answers a request in front of the framework and returns true, or leaves it to the framework. */
export type FastLane = (request: IncomingMessage, response: ServerResponse) => boolean

/** A server of Node that slow and silent clients cannot keep busy. */
export const createLimitedServer = (framework: RequestListener, answersInFront: FastLane) => {
  const limits = {
    maxHeaderSize: 12 * 1024,
    headersTimeout: 8 * seconds,
    requestTimeout: 10 * seconds,
    // `closeStillConnections` does this instead.
    keepAliveTimeout: 0,
    connectionsCheckingInterval: 2 * seconds,
    // A request without `Host` is refused below, with our own headers and body.
    requireHostHeader: false,
  }
  const responses = new WeakMap<Socket, ServerResponse>()
  const server = createServer(limits, (request, response) => {
    if (answersInFront(request, response)) return
    responses.set(request.socket, response)
    framework(request, response)
  })
  // Node would drop all header lines after the 2,000th without a word, and X-Forwarded-For may be among them. The bytes are
  // bounded above.
  server.maxHeadersCount = 0
  closeStillConnections(server, (socket) => responses.get(socket))
  return server
}

/**
 * The port closes first: new connections are refused, so that a proxy uses another instance. Connections that a proxy has
 * kept open stay for a moment; a request on one of them is answered, and then its connection closes. Node itself would
 * close idle connections at once, and cut off a request that is just arriving.
 */
export const createDrain =
  (server: HttpServer, state: { isClosing: boolean }) =>
  async ({ idleDelay, limit }: { idleDelay: number; limit: number }) => {
    state.isClosing = true
    const allClosed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()))
    await withTimeout(allClosed, idleDelay, () => undefined)
    // Idle connections close after what has arrived is read: a request that waits in the kernel would otherwise lose its connection.
    const closeIdle = () => setImmediate(() => server.closeIdleConnections())
    closeIdle()
    const sweep = setInterval(closeIdle, 100)
    await withTimeout(allClosed, limit, () => server.closeAllConnections())
    clearInterval(sweep)
  }
