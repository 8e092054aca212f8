import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

type Claims = { iss: string; aud: string; sub: string; sid: string; jti: string; iat: number; exp: number }
type ReceivedNotice = { header: Record<string, unknown>; claims: Claims; token: string; type: string | undefined }

type Answer = (response: ServerResponse, notice: ReceivedNotice) => void

const partsOf = (token: string) =>
  token
    .split('.')
    .slice(0, 2)
    .map((part) => JSON.parse(Buffer.from(part, 'base64url').toString()))

/** The back-channel logout address of an application. It reads each notice; who needs it checks the signature with its `token`. */
export const startLogoutReceiver = async (port = 0) => {
  const received: ReceivedNotice[] = []
  const accept: Answer = (response) => response.writeHead(200).end()
  const receiver = { answer: accept }
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const token = new URLSearchParams(Buffer.concat(chunks).toString()).get('logout_token') ?? ''
    const [header, claims] = partsOf(token)
    const notice = { header, claims, token, type: request.headers['content-type'] }
    received.push(notice)
    receiver.answer(response, notice)
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const { port: bound } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${bound}/backchannel-logout`,
    port: bound,
    received,
    sids: () => received.map(({ claims }) => claims.sid),
    answerWith: (answer: Answer = accept) => {
      receiver.answer = answer
    },
    stop: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

export type LogoutReceiver = Awaited<ReturnType<typeof startLogoutReceiver>>
