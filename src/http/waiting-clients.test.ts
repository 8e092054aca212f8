import { connect } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startStopwatch } from '../../test/support/stopwatch.js'
import { createServer } from './server.js'

const log = pino({ level: 'silent' })
const { server } = createServer({ log, production: false, publicUrl: 'http://localhost', trustProxy: undefined })
let address = ''

beforeAll(async () => {
  server.get('/slow', async () => {
    await wait(1_000)
    return 'done'
  })
  address = await server.listen({ host: '127.0.0.1', port: 0 })
  // Far below the real one, so that the test need not wait for it.
  server.server.timeout = 200
})
afterAll(() => server.close())

it('are answered, also when the answer takes longer than a silent connection may', async () => {
  expect(await (await fetch(`${address}/slow`)).text()).toBe('done')
})

it('are cut off when they neither send nor read', async () => {
  const time = startStopwatch()
  await new Promise<void>((resolve) => {
    const socket = connect(Number(new URL(address).port), '127.0.0.1').on('close', () => resolve())
    socket.on('error', () => {})
  })
  // Without this limit, the one for slow headers would close it after eight seconds.
  expect(time()).toBeLessThan(7_000)
})
