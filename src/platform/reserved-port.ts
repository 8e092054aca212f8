import { once } from 'node:events'
import { createServer } from 'node:net'
import type { Config } from '../settings/config.js'
import { listeningError } from './listening-error.js'

/** Takes a free port, so that no other program can take it before `release`. */
const holdFreePort = async (host: string) => {
  const holder = createServer((socket) => socket.destroy()).listen(0, host)
  await once(holder, 'listening').catch((error: unknown) => {
    throw listeningError(error)
  })
  const address = holder.address()
  if (address === null || typeof address === 'string') throw new Error('The holder of a free port has no port')
  const release = async () => {
    if (!holder.listening) return
    holder.close()
    await once(holder, 'close')
  }
  return { port: address.port, release }
}

/**
 * With port 0 a free port is chosen now, because addresses in mails and redirects need it. It is held until the server takes it.
 * If `PUBLIC_URL` is not set, the public address gets this port too.
 */
export const reservePort = async (config: Config) => {
  if (config.port !== 0) return { config, release: async () => {} }
  const { port, release } = await holdFreePort(config.host)
  const publicUrl = config.publicUrl === 'http://localhost:0' ? `http://localhost:${port}` : config.publicUrl
  return { config: Object.freeze({ ...config, port, publicUrl }), release }
}
