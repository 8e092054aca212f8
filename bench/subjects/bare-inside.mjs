// Loaded into the process of the service before it starts (`--import`): the empty server of bare-http.mjs on a port of its own.
// It shows how much of the distance to the limit comes from being a part of a large program. It gives the answer it was sent.
import { createServer } from 'node:http'
import { isMainThread } from 'node:worker_threads'

/** @type {{ status: number, headers: string[], body: string }} */
let { status, headers, body } = { status: 503, headers: [], body: '' }

const server = createServer({ keepAliveTimeout: 75_000 }, (request, response) => {
  if (request.method === 'GET') return void response.writeHead(status, headers).end(body)
  let text = ''
  request.setEncoding('utf8').on('data', (part) => {
    text += part
  })
  request.on('end', () => {
    ;({ status, headers, body } = JSON.parse(text))
    response.writeHead(204).end()
  })
})
// With WORKERS the processes of the service come from the supervisor, which has this too.
if (isMainThread && process.env.BENCH_INSIDE_PORT) server.listen(Number(process.env.BENCH_INSIDE_PORT), '127.0.0.1')
