// The limit of an access check: Node's own server with nothing on it, which gives every request the same answer. With SECRET it checks
// the signature of the access token first, by the library of the service. With WORKERS, several processes share the port.
import cluster from 'node:cluster'
import { createServer } from 'node:http'
import { createVerifier } from 'fast-jwt'

const { PORT: port, ANSWER: answer = '', SECRET: secret, WORKERS: workers = '1' } = process.env
/** @type {{ status: number, headers: string[], body: string }} */
const { status, headers, body } = JSON.parse(answer)
const verify = secret ? createVerifier({ key: secret, algorithms: ['HS256'] }) : undefined

const isSigned = (/** @type {string} */ cookie) => {
  try {
    return Boolean(verify?.(/access_token=([^;]*)/.exec(cookie)?.[1] ?? ''))
  } catch {
    return false
  }
}

const serve = () =>
  // As long as in the service, because the number is in a header.
  createServer({ keepAliveTimeout: 75_000 }, (request, response) => {
    if (verify && !isSigned(request.headers.cookie ?? '')) return void response.writeHead(401).end()
    response.writeHead(status, headers).end(body)
  }).listen(Number(port), '127.0.0.1')

if (cluster.isWorker || workers === '1') serve()
else for (let worker = 0; worker < Number(workers); worker += 1) cluster.fork()
