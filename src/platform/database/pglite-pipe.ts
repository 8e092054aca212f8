import { Duplex } from 'node:stream'
import type { Worker } from 'node:worker_threads'
import { StoreUnavailable } from './database.js'

/** The answer of a server to the start of a connection that needs no password. */
export const startupGreeting = Buffer.concat([
  Buffer.from([0x52, 0, 0, 0, 8, 0, 0, 0, 0]), // R: authenticated
  Buffer.from([0x5a, 0, 0, 0, 5, 0x49]), // Z: ready, idle
])
/** The last message before the connection ends: an error with the code 25P04, which says that the transaction took too long. */
export const transactionTooLong = (() => {
  const fields = [
    'SFATAL',
    'VFATAL',
    'C25P04',
    'Mthe transaction of the command took too long, and was rolled back',
    '',
  ]
  const body = Buffer.from(fields.map((field) => `${field}\0`).join(''))
  const head = Buffer.from([0x45, 0, 0, 0, 0]) // E: error
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
})()
export const terminateMessage = 'X'.charCodeAt(0)

export type Pipe = {
  stream: Duplex
  /** Sends one batch of messages past the driver. The driver must be idle, so that the next answer belongs to this batch. */
  exchange(bytes: Buffer): Promise<Buffer>
}

/** Makes the thread look like a socket for the driver. The thread does not answer the start of a connection, so the pipe does. */
export const createPipe = (worker: Worker): Pipe => {
  let isGreeted = false
  let pendingExchange: { resolve(answer: Buffer): void; reject(error: Error): void } | undefined
  const exit = new Promise((resolve) => worker.once('exit', resolve))
  // The bytes are copied, because a Buffer may be a view of a larger block, all of which would be sent.
  const post = (bytes: Buffer) => {
    const copy = new Uint8Array(bytes)
    worker.postMessage(copy, [copy.buffer])
  }
  const send = (bytes: Buffer) => {
    if (!isGreeted) {
      isGreeted = true
      // The greeting is sent later, because the driver does not expect an answer while it is still writing.
      setImmediate(() => stream.push(startupGreeting))
    } else if (bytes[0] !== terminateMessage) post(bytes)
  }
  const stream = new Duplex({
    read: () => undefined,
    write: (chunk: Buffer, _encoding, done) => {
      send(chunk)
      done()
    },
    // Everything that belongs to a statement goes to the thread in one message.
    writev: (chunks, done) => {
      send(Buffer.concat(chunks.map(({ chunk }) => chunk as Buffer)))
      done()
    },
    final: (done) => {
      worker.postMessage('close')
      exit.then(() => done(), done)
    },
    destroy: (error, done) => {
      worker.terminate().then(() => done(error), done)
    },
  })
  worker.on('message', (bytes: Uint8Array) => {
    const answer = Buffer.from(bytes.buffer)
    if (!pendingExchange) return void stream.push(answer)
    pendingExchange.resolve(answer)
    pendingExchange = undefined
    return undefined
  })
  worker.once('error', (error) => stream.destroy(error))
  worker.once('exit', () => {
    pendingExchange?.reject(new StoreUnavailable('The thread of the embedded database ended'))
    if (!stream.writableEnded) stream.destroy(new Error('The thread of the embedded database ended'))
    else stream.push(null)
  })
  Object.assign(stream, {
    setNoDelay: () => undefined,
    connect: () => process.nextTick(() => stream.emit('connect')),
  })
  const exchange = (bytes: Buffer) =>
    new Promise<Buffer>((resolve, reject) => {
      pendingExchange = { resolve, reject }
      post(bytes)
    })
  return { stream, exchange }
}
