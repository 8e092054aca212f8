import {
  createServer,
  type Server as HttpServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http'
import { Server as NetServer, type Socket } from 'node:net'
import { seconds } from '../lib/durations.js'
import { withTimeout } from '../lib/timing.js'
import { closeStillConnections } from './still-connections.js'

/** Answers a request in front of the framework and returns true, or leaves it to the framework. */
export type FastLane = (request: IncomingMessage, response: ServerResponse) => boolean

/** The newest answer of each connection. The fast lane answers at once, so its answers are not among them. */
const newestAnswers = new WeakMap<Socket, ServerResponse>()

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
  const server = createServer(limits, (request, response) => {
    if (answersInFront(request, response)) return
    newestAnswers.set(request.socket, response)
    framework(request, response)
  })
  // Node would drop all header lines after the 2,000th without a word, and X-Forwarded-For may be among them. The bytes are
  // bounded above.
  server.maxHeadersCount = 0
  closeStillConnections(server, (socket) => newestAnswers.get(socket))
  return server
}

/**
 * Shuts the server down. The port closes first: new connections are refused, so that a proxy uses another instance. Connections that a
 * proxy has kept open stay for a moment; a request on one of them is answered, and then its connection closes. Node itself would close
 * idle connections at once, and cut off a request that is just arriving.
 */
export const createDrain = (server: HttpServer, state: { isClosing: boolean }) => {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })

  /** Lets answers that are not yet written say that their connection closes. For later requests a hook of `http/server` does this. */
  const announce = () => {
    for (const socket of sockets) {
      const answer = newestAnswers.get(socket)
      if (answer && !answer.headersSent) answer.shouldKeepAlive = false
    }
  }

  const closeIdle = () => {
    server.closeIdleConnections()
    // Node leaves these open, because it waits for their first request.
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
  }

  return async ({ idleDelay, limit }: { idleDelay: number; limit: number }) => {
    state.isClosing = true
    announce()
    const allClosed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()))
    await withTimeout(allClosed, idleDelay, () => undefined)
    // Idle connections close after what has arrived is read: a request that waits in the kernel would otherwise lose its connection.
    const closeIdleSoon = () => setImmediate(closeIdle)
    closeIdleSoon()
    const sweep = setInterval(closeIdleSoon, 100)
    await withTimeout(allClosed, limit, () => server.closeAllConnections())
    clearInterval(sweep)
  }
}
