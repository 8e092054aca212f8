import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { request as forward, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import { join } from 'node:path'
import { ownFolder } from '../servers/server.js'
import { makeCertificate } from './nginx.js'

/**
 * `isProtected`: the service is asked first (`forward`), and any answer but 2xx goes to the visitor whole. `{user}` is who it names. `losesCookies`:
 * the check is sent without the cookies of the visitor.
 */
type Page = { headers?: Record<string, string | string[]>; body: string; isProtected?: true; losesCookies?: true }

/** As Traefik and Caddy ask. */
const ask = async (service: number, { method = 'GET', url = '/', headers }: IncomingMessage, losesCookies = false) => {
  const { host = '', cookie = '', ...others } = headers
  const asked = forward({
    host: '127.0.0.1',
    port: service,
    path: '/api/auth/forward',
    headers: {
      ...others,
      ...(!losesCookies && { cookie }),
      'x-forwarded-method': method,
      'x-forwarded-proto': 'https',
      'x-forwarded-host': host,
      'x-forwarded-uri': url,
    },
  }).end()
  const [answer] = (await once(asked, 'response')) as [IncomingMessage]
  return answer
}

/**
 * TLS on one port for several hosts below `.test`, which Chromium finds on this machine. A host whose first label has a page
 * answers it at every path; the others are the service.
 */
export const startHosts = async (tls: number, service: number, pages: Record<string, Page>) => {
  const folder = await ownFolder('hosts')
  const cert = await makeCertificate(folder)
  const key = await readFile(join(folder, 'privkey.pem'), 'utf8')
  const answerPage = async (page: Page, request: IncomingMessage, response: ServerResponse) => {
    const check = page.isProtected && (await ask(service, request, page.losesCookies))
    if (check && check.statusCode !== 200) {
      response.writeHead(check.statusCode ?? 502, check.headers)
      return void check.pipe(response)
    }
    check?.resume()
    response
      .writeHead(200, { 'content-type': 'text/html; charset=utf-8', ...page.headers })
      .end(page.body.replace('{user}', String(check?.headers['x-auth-username'])))
  }
  const answer = (request: IncomingMessage, response: ServerResponse) => {
    const page = pages[request.headers.host?.split('.')[0] ?? '']
    if (page) return void answerPage(page, request, response)
    const { url: path, method, headers } = request
    const asked = forward({ host: '127.0.0.1', port: service, path, method, headers }, (got) => {
      response.writeHead(got.statusCode ?? 502, got.headers)
      got.on('error', () => response.destroy())
      got.pipe(response)
    })
    asked.on('error', () => response.destroy())
    request.pipe(asked)
  }
  const server = createServer({ cert, key }, answer)
  await new Promise<void>((resolve) => server.listen(tls, '127.0.0.1', resolve))
  return {
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}
