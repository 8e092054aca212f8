import { connect } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { seconds } from '../../src/lib/durations.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { inLongRun } from '../support/long-run.js'
import { startStopwatch } from '../support/stopwatch.js'

let service: Latchkey
beforeAll(async () => {
  service = await startLatchkey()
  await service.signedUp('ada')
})
afterAll(() => service.stop())

const head = 'POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n'

/** Sends a little, and then one byte a second for ever, or nothing. Resolves with what the service has answered. */
const trickle = (begin: string, drop: string) =>
  new Promise<string>((resolve) => {
    let heard = ''
    const socket = connect(Number(new URL(service.url).port), '127.0.0.1', () => socket.write(begin))
    const timer = setInterval(() => socket.write(drop), 1 * seconds)
    socket.on('error', () => {})
    socket.on('data', (bytes) => {
      heard += bytes
    })
    socket.on('close', () => {
      clearInterval(timer)
      resolve(heard)
    })
  })

const each = inLongRun(500, 100)

it(`closes ${3 * each} slow and silent clients within 15 seconds, while all others are served`, async () => {
  const time = startStopwatch()
  const headers = Array.from({ length: each }, () => trickle(`${head}X-Slow: `, 'x'))
  const bodies = Array.from({ length: each }, () => trickle(`${head}Content-Length: 1000\r\n\r\n{`, ' '))
  const silent = Array.from({ length: each }, () => trickle('', ''))
  // Ignores the refusal of its half request, and keeps its end of the connection open.
  const port = Number(new URL(service.url).port)
  const deaf = connect({ port, host: '127.0.0.1', allowHalfOpen: true }).on('error', () => {})
  deaf.resume().write(`${head}Content-Length: 5\r\n\r\n`)
  let isOver = false
  const all = Promise.all([...headers, ...bodies, ...silent]).finally(() => {
    isOver = true
  })
  const others: number[] = []
  while (!isOver) {
    others.push((await service.browser().post('/login', { username: 'ada', password: goodPassword })).status)
    await Promise.race([all, wait(500)])
  }
  expect(time()).toBeLessThan(15 * seconds)
  // A browser opens connections ahead, and would take any word for the answer to its next request.
  expect(new Set(await Promise.all(silent))).toEqual(new Set(['']))
  const { server } = service.app.server
  const countOpen = () => new Promise((resolve) => server.getConnections((_error, count) => resolve(count)))
  await expect.poll(countOpen).toBe(0)
  deaf.destroy()
  // More than one: none of them had to wait until the slow clients were gone.
  expect(others.length).toBeGreaterThan(1)
  expect(new Set(others)).toEqual(new Set([200]))
})
