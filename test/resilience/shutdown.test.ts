import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { shutdownBudget } from '../../src/service/serving.js'
import { testPostgres } from '../support/databases.js'
import { type PostgresServer, startPostgres } from '../support/servers/postgres.js'
import { freePort } from '../support/servers/server.js'
import { startInstance } from '../support/site/instance.js'
import { untilBlocked } from '../support/waits-for-lock.js'

let postgres: PostgresServer
beforeAll(async () => {
  postgres = await startPostgres()
})
afterAll(() => postgres.stop())

const settings = () => ({
  DATABASE_URL: postgres.url,
  REDIS_URL: process.env.TEST_REDIS_URL ?? '',
  SMTP_URL: 'smtp://127.0.0.1:2525',
  PUBLIC_URL: 'https://localhost',
  DRAIN_DELAY: '0ms',
})

const halfRequest =
  'POST /login HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{'

it('closes in order when a client has sent half a request', async () => {
  const instance = await startInstance(await freePort(), settings())
  const slow = connect(instance.port, '127.0.0.1')
    .on('error', () => {})
    .resume()
  // Otherwise the port may be closed first.
  await once(slow, 'connect')
  slow.write(halfRequest)
  const cutOff = new Promise((resolve) => slow.once('close', resolve))
  await instance.terminate()
  await cutOff
  expect(await instance.log()).toContain('"within":"15 s"')
  expect(await instance.log()).not.toContain('took too long')
  await instance.stop()
})

it('shuts down within its budget, with a database that hangs and a client that never finishes', async () => {
  const instance = await startInstance(await freePort(), settings())
  const holder = testPostgres(postgres.url, { statementTimeoutMs: 120_000 })
  const watcher = testPostgres(postgres.url)
  const slow = connect(instance.port, '127.0.0.1').on('error', () => {})
  slow.write(halfRequest)
  const drip = setInterval(() => slow.write(' '), 1_000)
  const body = JSON.stringify({ username: 'ada', password: 'x' })
  const headers = { 'content-type': 'application/json', origin: 'https://localhost' }
  const ask = () => fetch(`${instance.url}/login`, { method: 'POST', headers, body }).catch(() => undefined)
  const { took, asked } = await holder.transaction(async (sql) => {
    await sql.query('lock table users')
    const request = ask()
    await untilBlocked(watcher)
    postgres.signal('SIGSTOP')
    const began = performance.now()
    await instance.terminate()
    postgres.signal('SIGCONT')
    return { took: performance.now() - began, asked: request }
  })
  clearInterval(drip)
  slow.destroy()
  await asked
  await Promise.all([instance.stop(), holder.close(), watcher.close()])
  // Without the budget it would wait for the client for ever: a busy machine has time to notice its end.
  expect(took).toBeLessThan(shutdownBudget({ drainDelay: 0, ownDatabase: false }) + 20_000)
})
