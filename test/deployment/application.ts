import { createHash } from 'node:crypto'
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { inLongRun } from '../support/long-run.js'

type Heard = { method: string; url: string; headers: IncomingHttpHeaders; body: string }

const listen = async (server: Server, host: string) => {
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  return (server.address() as AddressInfo).port
}

const stopper =
  (server: Server, sockets: Set<Duplex> = new Set()) =>
  async () => {
    for (const socket of sockets) socket.destroy()
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }

const nameIn = ({ headers }: IncomingMessage) => encodeURIComponent(String(headers['x-auth-username'] ?? 'nobody'))

/** RFC 6455 as far as a short text goes: a greeting, and then an echo of what comes. */
const speakWebSocket = (request: IncomingMessage, socket: Duplex) => {
  const key = `${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`
  const accept = createHash('sha1').update(key).digest('base64')
  const upgrade = 'Upgrade: websocket\r\nConnection: Upgrade'
  const say = (text: string) => socket.write(Buffer.concat([Buffer.from([0x81, text.length]), Buffer.from(text)]))
  socket.write(`HTTP/1.1 101 Switching Protocols\r\n${upgrade}\r\nSec-WebSocket-Accept: ${accept}\r\n\r\n`)
  say(`Hello, ${nameIn(request)}`)
  socket.on('data', (frame: Buffer) => {
    const isText = ((frame[0] ?? 0) & 15) === 1
    const mask = frame.subarray(2, 6)
    const text = frame.subarray(6).map((byte, index) => byte ^ (mask[index % 4] ?? 0))
    if (isText) say(Buffer.from(text).toString())
    else socket.end(Buffer.from([0x88, 0]))
  })
}

const sendPage = (response: ServerResponse, name: string, more = '') => {
  const form = '<form method=post action=/notes><input name=note><button>Send the note</button></form>'
  response.setHeader('content-type', 'text/html; charset=utf-8')
  response.end(
    `<!doctype html><title>Application</title><link rel=icon href=data:,><h1>Hello, ${name}</h1>${form}${more}`,
  )
}

/** One of thirty scripts: each counts itself. */
const sendPart = (response: ServerResponse) => {
  response.setHeader('content-type', 'text/javascript')
  response.end("window.parts = (window.parts ?? 0) + 1; document.querySelector('p').textContent = parts + ' parts'")
}

const manyParts = `<p>0 parts</p>${Array.from({ length: 30 }, (_, index) => `<script src=/part/${index}></script>`).join('')}`

/** How long an application may take. In every run, longer than the short `REFRESH_GRACE` that the tests set. */
const lateAnswer = inLongRun(60_000, 12_000)

/** Answers that are unlike the others: with many parts, for caches, events, none at all, none yet, and a late one. */
const oddPaths: Record<string, (response: ServerResponse) => void> = {
  '/many': (response) => sendPage(response, 'page of many parts', manyParts),
  '/cached': (response) => {
    response.setHeader('cache-control', 'public, max-age=31536000, immutable')
    response.setHeader('set-cookie', 'theme=dark')
    sendPage(response, 'cache')
  },
  '/mcp/events': (response) =>
    void response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: first\n\n'),
  '/broken': (response) => void response.destroy(),
  '/slow': () => undefined,
  '/late': (response) => void setTimeout(() => sendPage(response, 'late page'), lateAnswer),
}

/** Another team's application: a page that names whom it was told about, and a list of all that it was told. */
export const startApplication = async (host = '127.0.0.1') => {
  const heard: Heard[] = []
  const sockets = new Set<Duplex>()
  const hear = ({ method = '', url = '', headers }: IncomingMessage, body: string) =>
    heard.push({ method, url, headers, body })
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text
    })
    request.on('end', () => {
      hear(request, body)
      const odd = oddPaths[request.url ?? '']
      if (odd) odd(response)
      else if (request.url?.startsWith('/part/')) sendPart(response)
      else sendPage(response, nameIn(request))
    })
  })
  server.maxHeadersCount = 0
  server.on('upgrade', (request, socket) => {
    hear(request, '')
    sockets.add(socket)
    // A proxy may cut the connection at any moment.
    socket.on('error', () => socket.destroy())
    speakWebSocket(request, socket)
  })
  return { port: await listen(server, host), heard, last: () => heard.at(-1), stop: stopper(server, sockets) }
}

export type Application = Awaited<ReturnType<typeof startApplication>>

/**
 * Another site. It has a page with a link to the address that it is given, as mail programs and search engines have
 * them, and an address that redirects there, as providers do.
 */
export const startElsewhere = async () => {
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://elsewhere')
    const target = searchParams.get('to') ?? ''
    if (pathname === '/redirect') return response.writeHead(302, { location: target }).end()
    response.setHeader('content-type', 'text/html; charset=utf-8')
    const address = (pathname === '/link' ? target : `/redirect?to=${encodeURIComponent(target)}`).replaceAll(
      '&',
      '&amp;',
    )
    return response.end(`<!doctype html><title>Elsewhere</title><a href="${address}">go</a>`)
  })
  const url = `http://127.0.0.1:${await listen(server, '127.0.0.1')}`
  return {
    pageWithLinkTo: (target: string) => `${url}/link?to=${encodeURIComponent(target)}`,
    pageThatRedirectsTo: (target: string) => `${url}/page?to=${encodeURIComponent(target)}`,
    stop: stopper(server),
  }
}
