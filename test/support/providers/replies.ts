import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'

/** Takes the place of a proper answer. */
export type Reply = (response: ServerResponse) => void

const trickle =
  (chunk: string, milliseconds: number): Reply =>
  (response) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    const timer = setInterval(() => response.write(chunk), milliseconds)
    response.on('close', () => clearInterval(timer))
  }

export const json =
  (body: unknown, status = 200): Reply =>
  (response) => {
    response.writeHead(status, { 'content-type': 'application/json; charset=utf-8' }).end(JSON.stringify(body))
  }

/** The ways in which any address of any provider may let us down. */
export const replies = {
  serverError: (response: ServerResponse) => {
    response.writeHead(500).end()
  },
  unavailable: (response: ServerResponse) => {
    response.writeHead(503, { 'retry-after': '1', 'content-type': 'application/json' }).end('{}')
  },
  html: (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<!doctype html><title>Maintenance</title>')
  },
  htmlNamedJson: (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end('<!doctype html><title>Maintenance</title>')
  },
  redirect: (response: ServerResponse) => {
    response.writeHead(302, { location: 'http://127.0.0.1:9/elsewhere' }).end()
  },
  empty: (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'application/json' }).end()
  },
  noContent: (response: ServerResponse) => {
    response.writeHead(204).end()
  },
  nullBody: json(null),
  list: json(['unexpected']),
  cutShort: (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' })
    response.write('{"issuer":')
    setTimeout(() => response.destroy(), 10)
  },
  hangUp: (response: ServerResponse) => {
    response.destroy()
  },
  huge: (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(`{"filler":"${'x'.repeat(300 * 1024)}"}`)
  },
  endless: trickle('x'.repeat(16 * 1024), 1),
  compressed: (response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
    response.end(gzipSync('{}'))
  },
  silent: () => undefined,
  trickling: trickle(' ', 50),
} satisfies Record<string, Reply>

export const readForm = async (request: IncomingMessage) => {
  const chunks: Buffer[] = []
  for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
  return new URLSearchParams(Buffer.concat(chunks).toString())
}

/** A server on a free port of this machine. */
export const listen = async (listener: RequestListener) => {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
