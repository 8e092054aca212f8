import { once } from 'node:events'
import type { Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, it } from 'vitest'
import { minutes } from '../lib/durations.js'
import { createDrain, createLimitedServer } from './limited-server.js'

const listen = async (server: Server) => {
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return (server.address() as AddressInfo).port
}

/** A drain that waited for its limit would be longer than a test may last. */
const longest = { idleDelay: 10, limit: 20 * minutes }

it('says in an answer that began before the shutdown that the connection closes', async () => {
  let answer = () => {}
  const server = createLimitedServer(
    (_, response) => {
      answer = () => response.end('done')
    },
    () => false,
  )
  const drain = createDrain(server, { isClosing: false })
  const client = connect(await listen(server), '127.0.0.1').end('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await once(server, 'request')
  const drained = drain(longest)
  answer()
  expect(await text(client)).toMatch(/^HTTP\/1.1 200 OK\r\n(.+\r\n)*Connection: close\r\n/)
  await drained
})

it('does not wait for a connection on which nothing was sent', async () => {
  const server = createLimitedServer(
    () => {},
    () => false,
  )
  // Otherwise Node would close it after some seconds.
  Object.assign(server, { headersTimeout: 0, requestTimeout: 0 })
  const drain = createDrain(server, { isClosing: false })
  const client = connect(await listen(server), '127.0.0.1')
  await once(server, 'connection')
  await drain(longest)
  expect(await text(client)).toBe('')
})
