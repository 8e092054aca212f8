// The limit of an access check: Node's own server with nothing on it, which gives every request the same answer.
import { createServer } from 'node:http'

const { PORT: port, ANSWER: answer = '' } = process.env
/** @type {{ status: number, headers: string[], body: string }} */
const { status, headers, body } = JSON.parse(answer)

// As long as in the service, because the number is in a header.
createServer({ keepAliveTimeout: 75_000 }, (_request, response) => {
  response.writeHead(status, headers).end(body)
}).listen(Number(port), '127.0.0.1')
