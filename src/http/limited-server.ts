import {
  createServer,
  type Server as HttpServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http'
import { Server as NetServer, type Socket } from 'node:net'
import { seconds } from '../lib/durations.js'
import { withTimeout } from '../lib/timing.js'

/** `idle` and `unread` are counted in sweeps, so a connection may stay open for one interval longer. */
type Limits = { idle: number; unread: number; interval: number }
const usualLimits: Limits = { idle: 75 * seconds, unread: 15 * seconds, interval: 2.5 * seconds }

type Activity = { bytes: number; since: number }

/**
 * Closes connections that stand still: those that are open between two requests for too long, and those of clients that do not
 * read their answers. A client that waits for an answer is left alone: a hash may take longer on a busy machine. What a client
 * sends slowly is bounded by the server's own limits.
 *
 * Node has timers for both. They are set and cleared with every request, which takes a tenth of the time of an access check
 * (bench/README.md). So we look at all connections from time to time instead, and set a timer only for unread answers.
 */
export const closeStillConnections = (
  server: Server,
  answerOn: (socket: Socket) => ServerResponse | undefined,
  { idle, unread, interval }: Limits = usualLimits,
) => {
  const connections = new Map<Socket, Activity>()

  const closeIfStill = (socket: Socket, lastActivity: Activity, now: number) => {
    const answer = answerOn(socket)
    const isWaiting = answer !== undefined && !answer.headersSent && !answer.closed
    // Node's timer knows how much of a long answer the client has taken. Without a listener it closes the connection.
    const timeout = socket.writableLength > 0 && !isWaiting ? unread : 0
    if ((socket.timeout ?? 0) !== timeout) socket.setTimeout(timeout)
    const bytes = socket.bytesRead + socket.bytesWritten
    if (isWaiting || bytes !== lastActivity.bytes) Object.assign(lastActivity, { bytes, since: now })
    else if (timeout === 0 && now - lastActivity.since >= idle) socket.destroy()
  }

  const sweep = setInterval(() => {
    const now = performance.now()
    for (const [socket, lastActivity] of connections) closeIfStill(socket, lastActivity, now)
  }, interval).unref()

  server.on('connection', (socket: Socket) => {
    connections.set(socket, { bytes: 0, since: performance.now() })
    socket.once('close', () => connections.delete(socket))
  })
  server.once('close', () => clearInterval(sweep))
}

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
