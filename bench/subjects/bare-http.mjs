// The limit of an access check: Node's own server with nothing on it, which gives every request the same answer. With SECRET it checks
// the signature of the access token first, and reads its claims. With WORKERS, several processes share the port.
import cluster from 'node:cluster'
import { createHmac, createSecretKey, timingSafeEqual } from 'node:crypto'
import { createServer } from 'node:http'

const { PORT: port, ANSWER: answer = '', SECRET: secret, WORKERS: workers = '1' } = process.env
/** @type {{ status: number, headers: string[], body: string }} */
const { status, headers, body } = JSON.parse(answer)
const key = secret ? createSecretKey(Buffer.from(secret)) : undefined

const isSigned = (/** @type {import('node:crypto').KeyObject} */ secretKey, /** @type {string} */ cookie) => {
  const [, signed = '', payload = '', signature = ''] =
    /access_token=([\w-]+\.([\w-]+))\.([\w-]{43})(?:;|$)/.exec(cookie) ?? []
  const mac = createHmac('sha256', secretKey).update(signed).digest()
  const sent = Buffer.from(signature, 'base64url')
  return (
    mac.length === sent.length &&
    timingSafeEqual(mac, sent) &&
    JSON.parse(Buffer.from(payload, 'base64url').toString()).exp > Date.now() / 1000
  )
}

const serve = () =>
  // As long as in the service, because the number is in a header.
  createServer({ keepAliveTimeout: 75_000 }, (request, response) => {
    if (key && !isSigned(key, request.headers.cookie ?? '')) return void response.writeHead(401).end()
    response.writeHead(status, headers).end(body)
  }).listen(Number(port), '127.0.0.1')

if (cluster.isWorker || workers === '1') serve()
else for (let worker = 0; worker < Number(workers); worker += 1) cluster.fork()
