import { createServer } from 'node:http'
import { Webhook } from 'standardwebhooks'

const webhook = new Webhook(process.env.WEBHOOK_SECRET)
const handled = new Set() // in a real receiver: a table with a unique column

createServer(async (request, response) => {
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  try {
    const { type, data } = webhook.verify(Buffer.concat(chunks), request.headers)
    const id = request.headers['webhook-id']
    if (!handled.has(id)) console.log(type, data.user.id)
    handled.add(id)
    response.writeHead(204).end()
  } catch {
    response.writeHead(400).end()
  }
}).listen(process.env.PORT ?? 4000)
