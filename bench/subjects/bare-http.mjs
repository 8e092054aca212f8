// The limit of an access check: Node's own server with nothing on it, which answers every request with a fixed 204 and the
// headers that it is given.
import { createServer } from 'node:http'

const { PORT: port, HEADERS: headers = '{}' } = process.env
const fixed = JSON.parse(headers)

createServer((_request, response) => {
  response.writeHead(204, fixed)
  response.end()
}).listen(Number(port), '127.0.0.1')
