import { once } from 'node:events'
import { createServer } from 'node:net'
import { listeningError } from '../platform/listening-error.js'

/** A port that no program listens on. Addresses in mails need it before the server itself listens. */
export const freePort = async (host: string) => {
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
