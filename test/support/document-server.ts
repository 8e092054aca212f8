import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import type { ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import tls from 'node:tls'
import { makeCertificate } from './certificate.js'

type Answer = (response: ServerResponse) => void

const originalContext = tls.createSecureContext

/** What NODE_EXTRA_CA_CERTS does, for the process of the tests. */
const trust = (certificate: string) => {
  tls.createSecureContext = (options) => {
    const secure = originalContext(options)
    ;(secure.context as { addCACert(pem: string): void }).addCACert(certificate)
    return secure
  }
}

/** A server with documents of programs, at `https://localhost:PORT`. `serve` says what is at a path, and the asked paths are counted. */
export const startDocumentServer = async (folder: string) => {
  const files = await makeCertificate(folder, 'documents')
  const [key, cert] = await Promise.all([readFile(files.key, 'utf8'), readFile(files.cert, 'utf8')])
  trust(cert)
  const answers = new Map<string, Answer>()
  const asked: string[] = []
  const server = createServer({ key, cert }, (request, response) => {
    const path = request.url ?? ''
    asked.push(path)
    const answer = answers.get(path)
    if (answer) answer(response)
    else response.writeHead(404).end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const host = `localhost:${(server.address() as AddressInfo).port}`
  const idOf = (path: string) => `https://${host}${path}`

  return {
    host,
    caFile: files.cert,
    idOf,
    asked,
    answer: (path: string, answer: Answer) => {
      answers.set(path, answer)
      return idOf(path)
    },
    /** A document with these properties in place of the usual ones. Returns its address, which is the `client_id`. */
    serve: (path: string, changed: object = {}, headers: Record<string, string> = {}) => {
      const document = {
        client_id: idOf(path),
        client_name: 'Helper',
        redirect_uris: ['http://127.0.0.1/callback'],
        token_endpoint_auth_method: 'none',
        ...changed,
      }
      answers.set(path, (response) =>
        response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(document)),
      )
      return idOf(path)
    },
    stop: async () => {
      tls.createSecureContext = originalContext
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

export type DocumentServer = Awaited<ReturnType<typeof startDocumentServer>>
