import { connect } from 'node:net'
import type { Client, ClientConfig } from 'pg'

/** The code of a CancelRequest in PostgreSQL's protocol. */
const cancelRequest = 80_877_102
const cancelTimeoutMs = 3_000

/** The client with the id and the secret of the server's process. The driver has them, but not in its types. */
export const withProcessKey = (client: Client) => client as Client & Record<'processID' | 'secretKey', number | null>

/**
 * Asks the server to cancel the statement of an abandoned connection. Otherwise each commit that waits for a standby would keep its
 * connection on the server occupied, until the server accepts no further connections.
 */
export const cancelStatement = (client: Client, { host = '', port = 5432 }: ClientConfig) => {
  const { processID, secretKey } = withProcessKey(client)
  if (processID === null || secretKey === null) return
  const request = Buffer.alloc(16)
  for (const [place, number] of [16, cancelRequest, processID, secretKey].entries()) {
    request.writeInt32BE(number, place * 4)
  }
  const socket = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host)
  socket.unref().on('error', () => undefined)
  socket.setTimeout(cancelTimeoutMs, () => socket.destroy())
  socket.end(request)
}
