import { type Server as HttpServer, type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { type Refused, refuse } from '../contract/outcome.js'
import { type RefusalCode, refusals } from '../contract/refusals.js'
import { seconds } from '../lib/durations.js'
import { bodyOf } from './errors.js'

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
export const answerOnSocket = (
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
export const refuseExpectations = (server: HttpServer, securityHeaders: Readonly<Record<string, string>>) =>
  server.on('checkExpectation', (_request: IncomingMessage, response: ServerResponse) => {
    const { headers, body } = wholeAnswer(refuse('expectation_failed'), securityHeaders)
    response.writeHead(refusals.expectation_failed.status, headers).end(body)
  })
