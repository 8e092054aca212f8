import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { seconds } from '../lib/durations.js'

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
