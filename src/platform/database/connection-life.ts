import type { Client, ClientConfig } from 'pg'
import { withTimeout } from '../../lib/with-timeout.js'
import { cancelStatement } from './cancel-statement.js'
import { StoreUnavailable } from './database.js'

const endTimeoutMs = 5_000

/** Whether a connection can be used, and how it ends. `onClosed` is called once, if it was opened. */
export const createConnectionLife = (client: Client, config: ClientConfig, onClosed: (hung: boolean) => void) => {
  let wasOpened = false
  let open = false
  let hung = false

  // Reported before the statement under way fails, so that the next caller gets another connection.
  const reportClosed = () => {
    open = false
    if (wasOpened) onClosed(hung)
    wasOpened = false
  }
  const destroy = (reason: Error) => {
    reportClosed()
    client.connection.stream.destroy(reason)
  }
  // The driver rejects every statement under way. An error event without a listener would end the process.
  client.on('error', destroy)
  const closed = new Promise<void>((resolve) => {
    client.on('end', () => {
      reportClosed()
      resolve()
    })
  })

  return {
    isOpen: () => open,
    opened: () => {
      wasOpened = true
      open = true
    },
    end: async () => {
      open = false
      // A hung server never closes the connection.
      const ended = client.end().then(() => closed)
      await withTimeout(ended, endTimeoutMs, () => {
        client.connection.stream.destroy()
        return ended
      })
    },
    destroy,
    giveUp: () => {
      hung = true
      cancelStatement(client, config)
      destroy(new StoreUnavailable('The database did not answer in time'))
    },
  }
}
