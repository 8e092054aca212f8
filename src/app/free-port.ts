import { once } from 'node:events'
import { createServer } from 'node:net'
import type { Config } from '../config.js'
import { listeningError } from '../platform/listening-error.js'

/** A port that no program listens on. Addresses in mails need it before the server itself listens. */
const freePort = async (host: string) => {
  const probe = createServer().listen(0, host)
  await once(probe, 'listening').catch((error: unknown) => {
    throw listeningError(error)
  })
  const address = probe.address()
  probe.close()
  await once(probe, 'close')
  if (address === null || typeof address === 'string') throw new Error('The probe for a free port has no port')
  return address.port
}

/** Port 0 and no public address: the port is chosen now, because addresses in mails and redirects need it. */
export const withPort = async (config: Config): Promise<Config> => {
  if (config.port !== 0) return config
  const port = await freePort(config.host)
  const publicUrl = config.publicUrl === 'http://localhost:0' ? `http://localhost:${port}` : config.publicUrl
  return Object.freeze({ ...config, port, publicUrl })
}
