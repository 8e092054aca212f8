import { type AddressInfo, createServer, type Socket } from 'node:net'
import PostalMime, { type Email } from 'postal-mime'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'

type ReceivedMail = Email & { raw: string; recipients: string[] }

/** A mail server in this process that keeps what it is given. Loopback only, no encryption unless asked for. */
export const startSmtpInbox = async (options: SMTPServerOptions = {}, wantedPort = 0) => {
  const received: ReceivedMail[] = []
  const server = new SMTPServer({
    disabledCommands: ['STARTTLS'],
    authOptional: true,
    logger: false,
    onData: (stream, session, done) => {
      const chunks: Buffer[] = []
      stream.on('data', (chunk: Buffer) => chunks.push(chunk))
      stream.on('end', async () => {
        const raw = Buffer.concat(chunks)
        const recipients = session.envelope.rcptTo.map(({ address }) => address)
        received.push({ ...(await PostalMime.parse(raw)), raw: raw.toString('utf8'), recipients })
        done()
      })
    },
    ...options,
  })
  server.on('error', () => {})
  const port = await new Promise<number>((resolve) => {
    const listening = server.listen(wantedPort, '127.0.0.1', () => resolve((listening.address() as AddressInfo).port))
  })
  return {
    port,
    url: `smtp://127.0.0.1:${port}`,
    received,
    stop: () => new Promise<void>((resolve) => server.close(resolve)),
  }
}

export type SmtpInbox = Awaited<ReturnType<typeof startSmtpInbox>>

/** A mail server that accepts connections and says what `speak` says, or nothing at all. */
export const startOddServer = async (speak: (socket: Socket) => void = () => {}) => {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
    speak(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    port,
    url: `smtp://127.0.0.1:${port}`,
    connections: () => sockets.size,
    stop: () =>
      new Promise<void>((resolve) => {
        for (const socket of sockets) socket.destroy()
        server.close(() => resolve())
      }),
  }
}
