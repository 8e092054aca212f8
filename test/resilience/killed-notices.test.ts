import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Database } from '../../src/platform/database/database.js'
import { createBrowser } from '../support/client.js'
import { freshPostgres, testPostgres } from '../support/databases.js'
import { type LogoutReceiver, startLogoutReceiver } from '../support/logout-receiver.js'
import { freePort } from '../support/servers/server.js'
import { type Instance, startInstance } from '../support/site/instance.js'
import { addPeople, password } from '../support/site/site.js'
import { until } from '../support/until.js'
import { addApplication, useApplication } from '../support/used-applications.js'

let receiver: LogoutReceiver
let drop: () => Promise<void>
let database: Database
let instance: Instance
let [paused, silent] = ['', '']
beforeAll(async () => {
  const fresh = await freshPostgres()
  drop = fresh.drop
  database = testPostgres(fresh.url)
  receiver = await startLogoutReceiver()
  await addPeople(fresh.url, ['ada'])
  paused = await addApplication(database, { backchannel: receiver.url })
  silent = await addApplication(database, { backchannel: receiver.url })
  const port = await freePort()
  instance = await startInstance(port, {
    // Not production: over plain HTTP a browser would not send its cookies, and no application is told on this machine.
    NODE_ENV: 'development',
    DATABASE_URL: fresh.url,
    PUBLIC_URL: `http://127.0.0.1:${port}`,
  })
})
afterAll(async () => {
  await instance?.stop()
  await receiver?.stop()
  await database?.close()
  await drop?.()
})

const kill = async () => {
  instance.signal('SIGKILL')
  await until('it is gone', () => !instance.alive())
}

/** The user signs in, uses the application, and signs out. */
const signOut = async (application: string) => {
  const tab = createBrowser(instance.url)
  expect((await tab.post('/login', { username: 'ada', password })).status).toBe(200)
  const { sid } = await useApplication(database, tab, application)
  expect((await tab.act('/api/auth/logout')).status).toBe(204)
  return sid
}

/** A minute passes: whoever had taken the notice has lost it. */
const endLeases = () =>
  database.query("update logout_notices set next_attempt_at = next_attempt_at - interval '61 seconds'")
const waiting = async () => (await database.query('select 1 from logout_notices')).length
const timesTold = (sid: string) => receiver.sids().filter((told) => told === sid).length

it('a service that is killed before it sends a logout notice, or while it does, has told the application after its restart', async () => {
  // Nothing is sent to the first application for now.
  const pause = "insert into logout_pauses values ($1, 1, now() + interval '1 hour')"
  await database.query(pause, [paused])
  const unsent = await signOut(paused)
  expect(await waiting()).toBe(1)
  // The second one has read the notice, and its answer never arrives.
  receiver.answerWith(() => undefined)
  const halfSent = await signOut(silent)
  await until('the notice is on its way', () => timesTold(halfSent) === 1)
  await kill()
  expect([await waiting(), timesTold(unsent)]).toEqual([2, 0])
  receiver.answerWith()
  await database.query('delete from logout_pauses')
  await endLeases()

  await instance.again()
  await until('both are told', () => timesTold(unsent) === 1 && timesTold(halfSent) === 2)
  await until('nothing waits', async () => (await waiting()) === 0)
  const [first, second] = receiver.received.filter(({ claims }) => claims.sid === halfSent)
  expect(first?.claims.jti).not.toBe(second?.claims.jti)
  expect(timesTold(unsent)).toBe(1)
})
