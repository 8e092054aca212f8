import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'

export type Heard = { method: string; url: string; headers: IncomingHttpHeaders; body: string }

/** Somebody else's application: a page that names whom it was told about, and a list of all that it was told. */
export const startApplication = async (host = '127.0.0.1') => {
  const heard: Heard[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (text: string) => {
      body += text
    })
    request.on('end', () => {
      heard.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers, body })
      const who = request.headers['x-auth-username'] ?? 'nobody'
      response.setHeader('content-type', 'text/html; charset=utf-8')
      response.end(`<!doctype html><title>Application</title><h1>Hello, ${encodeURIComponent(String(who))}</h1>`)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  const { port } = server.address() as AddressInfo
  return {
    port,
    heard,
    last: () => heard.at(-1),
    stop: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

export type Application = Awaited<ReturnType<typeof startApplication>>

/** A page on another site with a link to the address it is given, as mail programs and search engines have them. */
export const startElsewhere = async () => {
  const server = createServer((request, response) => {
    const target = new URL(request.url ?? '/', 'http://elsewhere').searchParams.get('to') ?? ''
    response.setHeader('content-type', 'text/html; charset=utf-8')
    response.end(`<!doctype html><title>Elsewhere</title><a href="${target.replaceAll('&', '&amp;')}">go</a>`)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    pageWithLinkTo: (target: string) => `http://127.0.0.1:${port}/?to=${encodeURIComponent(target)}`,
    stop: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
