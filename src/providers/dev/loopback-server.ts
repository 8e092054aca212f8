import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createOwnHosts } from '../../http/origins.js'

export type Handler = (request: IncomingMessage, response: ServerResponse) => void | Promise<void>

const longestForm = 16 * 1024

/** Listens on a free port of this machine only. The handler is created once the address is known. */
export const startLoopbackServer = async (hostname: string, createHandler: (origin: string) => Handler) => {
  const server = createServer()
  server.maxHeadersCount = 0
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', resolve)
  })
  const origin = `http://${hostname}:${(server.address() as AddressInfo).port}`
  const handle = createHandler(origin)
  const isOwnHost = createOwnHosts({ publicUrl: origin, otherNames: [] })
  server.on('request', (request, response) => {
    if (!isOwnHost(request.headers.host ?? '')) return void response.writeHead(421).end()
    Promise.resolve(handle(request, response)).catch(() => {
      if (!response.headersSent) response.writeHead(500)
      response.end()
    })
  })
  const close = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  return { origin, close }
}

export const readForm = async (request: IncomingMessage) => {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > longestForm) throw new Error('The form is too long')
    chunks.push(chunk)
  }
  return new URLSearchParams(Buffer.concat(chunks).toString('utf8'))
}

export const sendJson = (response: ServerResponse, body: unknown, status = 200) => {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store' })
  response.end(JSON.stringify(body))
}
