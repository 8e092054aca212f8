import { once } from 'node:events'
import { connect, isIP, type Socket } from 'node:net'
import { checkServerIdentity, connect as connectTls } from 'node:tls'
import type { Tls } from './postgres-address.js'

type Target = { host: string; port: number; tls: Tls; signal: AbortSignal }

/** A connected socket, encrypted as the address asks. Done here and not in the driver, so that one deadline covers it all. */
export const openSocket = async ({ host, port, tls, signal }: Target): Promise<Socket> => {
  const path = host.startsWith('/') ? `${host}/.s.PGSQL.${port}` : undefined
  const socket = path
    ? connect({ path })
    : connect({ host, port, noDelay: true, keepAlive: true, keepAliveInitialDelay: 30_000 })
  const abort = () => socket.destroy(new Error('The database did not accept the connection in time'))
  signal.addEventListener('abort', abort, { once: true })
  try {
    await once(socket, 'connect')
    if (tls.mode === 'disable' || path) return socket
    return await encrypt(socket, host, tls)
  } catch (error) {
    socket.destroy()
    throw error
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

const tlsRequest = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])

const encrypt = async (socket: Socket, host: string, tls: Tls): Promise<Socket> => {
  socket.write(tlsRequest)
  const answer = await firstAnswer(socket)
  // More than the one byte would be text that somebody slipped in before the encryption (CVE-2021-23222).
  if (answer.length !== 1) throw new Error('The database sent more than an answer to the request for encryption')
  if (answer[0] !== 'S'.charCodeAt(0)) {
    if (tls.mode === 'prefer') return socket
    throw new Error('The database does not offer encryption, and sslmode asks for it')
  }
  const verifies = tls.mode === 'verify-ca' || tls.mode === 'verify-full'
  const secure = connectTls({
    socket,
    servername: isIP(host) ? undefined : host,
    rejectUnauthorized: verifies,
    // Named here: for a host given by its address the platform would compare the certificate with "localhost".
    checkServerIdentity: (_name, certificate) =>
      tls.mode === 'verify-full' ? checkServerIdentity(host, certificate) : undefined,
    ...(tls.ca && { ca: tls.ca }),
    ...(tls.cert && { cert: tls.cert, key: tls.key }),
  })
  await once(secure, 'secureConnect')
  return secure
}

const firstAnswer = (socket: Socket) =>
  new Promise<Buffer>((resolve, reject) => {
    const closed = () => reject(new Error('The database closed the connection'))
    socket.once('close', closed)
    socket.once('error', reject)
    socket.once('data', (bytes) => {
      socket.off('close', closed)
      socket.off('error', reject)
      resolve(bytes)
    })
  })
