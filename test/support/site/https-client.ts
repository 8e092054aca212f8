import type { IncomingMessage } from 'node:http'
import { Agent, request } from 'node:https'
import { createCookieJar } from '../cookie-jar.js'

type Options = { headers?: Record<string, string>; csrf?: boolean }

export type Answer = {
  status: number
  headers: IncomingMessage['headers']
  /** Every header line as it came, so that doubles show. */
  lines: [string, string][]
  text: string
  body: Record<string, unknown>
}

export type FrontEnd = { port: number; certificate: string }

/** Connections to the front end that are kept, as a browser keeps them. `from` is the client's address on loopback. */
export const createConnections = ({ certificate }: FrontEnd, from = '127.0.0.1') =>
  new Agent({ ca: certificate, keepAlive: true, maxSockets: 64, localAddress: from })

const linesOf = ({ rawHeaders }: IncomingMessage) =>
  rawHeaders.flatMap((name, index): [string, string][] =>
    index % 2 === 0 ? [[name.toLowerCase(), rawHeaders[index + 1] ?? '']] : [],
  )

const readJson = (text: string, type = '') => (type.startsWith('application/json') ? JSON.parse(text) : {})

/** A user's browser at the front end: keeps cookies, and sends what our own pages send. */
export const createVisitor = (door: FrontEnd, connections = createConnections(door), jar = createCookieJar()) => {
  const origin = `https://localhost:${door.port}`

  const exchange = (
    method: string,
    path: string,
    text: string | undefined,
    headers: Record<string, string>,
  ): Promise<Answer> =>
    new Promise<Answer>((resolve, reject) => {
      const asked = request({ host: 'localhost', port: door.port, agent: connections, method, path, headers })
      asked.once('error', (error: NodeJS.ErrnoException) => {
        // The server has closed a kept connection at the moment it was used again: a browser takes another one, too.
        const isStale = asked.reusedSocket && error.code === 'ECONNRESET'
        if (isStale) resolve(exchange(method, path, text, headers))
        else reject(new Error(`${method} ${path}: ${error.message}`, { cause: error }))
      })
      asked.once('response', (answer) => {
        let received = ''
        answer.setEncoding('utf8').on('data', (chunk: string) => {
          received += chunk
        })
        answer.once('error', reject)
        answer.once('end', () => {
          jar.keep(answer.headers['set-cookie'] ?? [], { isSecure: true })
          const body = readJson(received, answer.headers['content-type'])
          const { headers: got, statusCode: status = 0 } = answer
          resolve({ status, headers: got, lines: linesOf(answer), text: received, body })
        })
      })
      asked.end(text)
    })

  const send = async (method: string, path: string, body?: unknown, options: Options = {}): Promise<Answer> => {
    const headers: Record<string, string> = options.csrf ? { 'x-csrf-token': await csrfToken() } : {}
    const cookie = jar.header()
    const text = body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body)
    if (method !== 'GET') Object.assign(headers, { origin, 'sec-fetch-site': 'same-origin' })
    if (text !== undefined) headers['content-type'] = 'application/json'
    if (text !== undefined) headers['content-length'] = String(Buffer.byteLength(text))
    if (cookie) headers.cookie = cookie
    return exchange(method, path, text, { ...headers, ...options.headers })
  }

  const csrfToken = async () => String((await send('GET', '/api/auth/csrf-token')).body.csrfToken)

  return {
    jar,
    send,
    get: (path: string, headers?: Record<string, string>) => send('GET', path, undefined, { headers: headers ?? {} }),
    post: (path: string, body: unknown = {}, headers?: Record<string, string>) =>
      send('POST', path, body, { headers: headers ?? {} }),
    act: (path: string, body: unknown = {}) => send('POST', path, body, { csrf: true }),
    refresh: () => send('POST', '/api/auth/refresh', {}),
    /** The same cookies in another hand. */
    copy: () => createVisitor(door, connections, createCookieJar(jar)),
  }
}

export type Visitor = ReturnType<typeof createVisitor>
