import type { Client, ClientConfig } from 'pg'
import { withTimeout } from '../../lib/with-timeout.js'
import { cancelStatement } from './cancel-statement.js'
import { StoreUnavailable } from './database.js'

const endTimeoutMs = 5_000

/** Knows whether a connection can be used, and ends it. `onClosed` is called once, if the connection was opened. */
export const createConnectionLife = (client: Client, config: ClientConfig, onClosed: (isHung: boolean) => void) => {
  let wasOpened = false
  let isOpenNow = false
  let isHung = false

  // Called before the current statement fails, so that the next caller gets another connection.
  const reportClosed = () => {
    isOpenNow = false
    if (wasOpened) onClosed(isHung)
    wasOpened = false
  }
  const destroy = (reason: Error) => {
    reportClosed()
    client.connection.stream.destroy(reason)
  }
  // The driver itself rejects the current statements. An error event without a listener would end the process.
  client.on('error', destroy)
  const closed = new Promise<void>((resolve) => {
    client.on('end', () => {
      reportClosed()
      resolve()
    })
  })

  return {
    isOpen: () => isOpenNow,
    markOpened: () => {
      wasOpened = true
      isOpenNow = true
    },
    end: async () => {
      isOpenNow = false
      // A hung server never closes the connection, so it is destroyed after a timeout.
      const ending = client.end().then(() => closed)
      await withTimeout(ending, endTimeoutMs, () => {
        client.connection.stream.destroy()
        return ending
      })
    },
    destroy,
    giveUp: () => {
      isHung = true
      cancelStatement(client, config)
      destroy(new StoreUnavailable('The database did not answer in time'))
    },
  }
}
