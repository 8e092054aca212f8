import { once } from 'node:events'
import { connect } from 'node:net'
import fastify from 'fastify'
import { afterEach, expect, it } from 'vitest'
import { until } from '../../test/support/until.js'
import { systemClock } from '../lib/clock.js'
import { minutes } from '../lib/durations.js'
import { createMemoryCache } from '../platform/cache/memory.js'
import type { Limiter } from './limiters.js'
import { createCountedRequests } from './limits.js'

const limiter: Limiter = {
  name: 'login',
  limit: { maximum: 1, window: 15 * minutes },
  code: 'too_many_logins',
  refundsSuccess: true,
}

/** A server with one attempt at a time, whose store and whose handler wait until the test lets them go on. */
const startServer = async () => {
  const memory = createMemoryCache({ clock: systemClock, maximumKeys: 100 })
  const gates = { store: Promise.resolve(), handler: Promise.resolve() }
  const seen = { asked: 0, left: 0, handled: 0 }
  const cache = {
    ...memory,
    reserveAll: async (...asked: Parameters<typeof memory.reserveAll>) => {
      seen.asked += 1
      await gates.store
      return memory.reserveAll(...asked)
    },
  }
  const counted = createCountedRequests({ cache, onRejection: async () => undefined })
  const server = fastify()
  server.route({
    method: 'GET',
    url: '/',
    onRequest: async (request, reply) => {
      reply.raw.once('close', () => {
        if (!reply.raw.writableFinished) seen.left += 1
      })
      return counted.count(limiter, 'office', request, reply)
    },
    onSend: counted.refundSuccess,
    handler: async () => {
      seen.handled += 1
      await gates.handler
      return 'done'
    },
  })
  const address = new URL(await server.listen({ host: '127.0.0.1', port: 0 }))
  const ask = async () => (await fetch(address)).status
  /** Sends a request and leaves as soon as the counter was asked for it. */
  const leave = async () => {
    const { asked, left } = seen
    const socket = connect(Number(address.port), address.hostname)
    await once(socket, 'connect')
    socket.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
    await until('the counter is asked', () => seen.asked > asked)
    socket.destroy()
    await until('the server has noticed', () => seen.left > left)
  }
  return { ask, leave, gates, seen, close: () => server.close() }
}

const hold = () => {
  let open = () => {}
  const promise = new Promise<void>((resolve) => {
    open = resolve
  })
  return { promise, open }
}

let started: Awaited<ReturnType<typeof startServer>> | undefined
afterEach(() => started?.close())

it('a client that leaves while it waits uses nothing up', async () => {
  started = await startServer()
  const { ask, leave, gates, seen } = started
  const handler = hold()
  gates.handler = handler.promise
  const first = ask()
  await until('the first is being handled', () => seen.handled === 1)
  await leave()
  handler.open()
  expect(await first).toBe(200)
  expect(await Promise.all([ask(), ask()])).toEqual([200, 200])
  expect(seen.handled).toBe(3)
})

it('a client that leaves while the counter is asked uses nothing up, and nothing waits for it', async () => {
  started = await startServer()
  const { ask, leave, gates, seen } = started
  const store = hold()
  gates.store = store.promise
  await leave()
  store.open()
  expect(await ask()).toBe(200)
  expect(seen.handled).toBe(1)
})
