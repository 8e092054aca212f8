import { parentPort, workerData } from 'node:worker_threads'
import { PGlite } from '@electric-sql/pglite'
import { prepareDirectory, startParameters } from './pglite-directory.js'

// The thread of the embedded database: bytes of PostgreSQL's protocol in, bytes out, one message at a time.
const port = parentPort
if (!port) throw new Error('This file runs in a worker thread')
const { directory, templateFile } = workerData as { directory: string; templateFile?: string }

await prepareDirectory({ directory, templateFile })
const database = await PGlite.create(directory, { startParams: startParameters })

port.on('message', (message: Uint8Array | 'close') => {
  if (message === 'close') {
    database.close().then(() => port.close(), fail)
    return
  }
  const answer = new Uint8Array(database.execProtocolRawSync(message))
  port.postMessage(answer, [answer.buffer])
})

const fail = (error: unknown) => {
  throw error
}

port.postMessage('ready')
