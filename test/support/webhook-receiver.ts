import { randomBytes } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Webhook } from 'standardwebhooks'

type ReceivedWebhook = {
  id: string
  type: string
  body: { type: string; timestamp: string; data: { user: { id: string } } & Record<string, unknown> }
  headers: IncomingHttpHeaders
}

export const newWebhookSecret = () => `whsec_${randomBytes(32).toString('base64')}`

type Answer = (response: ServerResponse, webhook: ReceivedWebhook) => void

/** A receiver that checks each webhook with the library of the standard. `answer` may be replaced while it runs. */
export const startWebhookReceiver = async (secret = newWebhookSecret(), port = 0) => {
  const received: ReceivedWebhook[] = []
  const rejected: unknown[] = []
  const verifier = new Webhook(secret)
  const accept: Answer = (response) => response.writeHead(204).end()
  const receiver = { answer: accept }
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    if (request.method !== 'POST') {
      response.end()
      return
    }
    try {
      const headers = request.headers as Record<string, string>
      const body = verifier.verify(Buffer.concat(chunks).toString(), headers) as ReceivedWebhook['body']
      const webhook = { id: headers['webhook-id'] ?? '', type: body.type, body, headers: request.headers }
      received.push(webhook)
      receiver.answer(response, webhook)
    } catch (error) {
      rejected.push(error)
      response.writeHead(400).end()
    }
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const { port: bound } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${bound}/webhooks?from=latchkey`,
    port: bound,
    secret,
    received,
    rejected,
    types: () => received.map(({ type }) => type),
    answerWith: (answer: Answer = accept) => {
      receiver.answer = answer
    },
    stop: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

export type WebhookReceiver = Awaited<ReturnType<typeof startWebhookReceiver>>
