import { afterAll, beforeAll, expect, it } from 'vitest'
import { operatorClient } from '../../src/http/request-origin.js'
import { days, minutes } from '../../src/lib/durations.js'
import { createExpiredRows } from '../../src/service/background.js'
import { idOf } from '../support/administrators.js'
import { addApplication } from '../support/applications.js'
import { parametersFor } from '../support/authorization-requests.js'
import { createBrowser } from '../support/client.js'
import { createWrongClock } from '../support/clock.js'
import { createEmailChanges } from '../support/email-changes.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { until } from '../support/until.js'

// Instances of one service, on one database and one Redis: two are ten minutes apart, and one is wrong by more than a week.
let slow: Latchkey
let fast: Latchkey
let wrong: Latchkey
beforeAll(async () => {
  slow = await startLatchkey({ clock: createWrongClock(-5 * minutes) })
  const { databaseUrl, redisUrl = '', redisPrefix } = slow.config
  const secret = slow.app.platform.secrets.join(',')
  const stores = { DATABASE_URL: databaseUrl, REDIS_URL: redisUrl, REDIS_PREFIX: redisPrefix }
  const settings = { ...stores, JWT_SECRET: secret, PUBLIC_URL: slow.url }
  fast = await startLatchkey({ settings, clock: createWrongClock(5 * minutes) })
  wrong = await startLatchkey({ settings, clock: createWrongClock(8 * days) })
  // All mails are in one mailbox.
  for (const instance of [fast, wrong]) await instance.app.rooms.mails.stop()
})
afterAll(async () => {
  await wrong.stop()
  await fast.stop()
  await slow.stop()
})

/** The same browser at the other instance. */
const at = (instance: Latchkey, jar: ReadonlyMap<string, string>) => {
  const tab = createBrowser(`http://localhost:${instance.config.port}`)
  for (const [name, value] of jar) tab.jar.set(name, value)
  return tab
}

it('tokens of either instance serve at the other', async () => {
  const fromSlow = await slow.signedUp('ada')
  expect((await at(fast, fromSlow.jar).get('/api/auth/me')).status).toBe(200)
  const fromFast = at(fast, new Map())
  expect((await fromFast.post('/login', { username: 'ada', password: goodPassword })).status).toBe(200)
  expect((await at(slow, fromFast.jar).get('/api/auth/me')).status).toBe(200)
  expect((await at(slow, fromFast.jar).post('/api/auth/refresh')).status).toBe(200)
})

it('after all sessions of a user have ended, a new one is accepted everywhere, whichever clock is behind', async () => {
  await slow.signedUp('bo')
  const userId = await idOf(slow, 'bo')
  for (const instance of [slow, fast]) {
    await instance.app.rooms.operatorChanges.endSessions({ userId, client: operatorClient('root') })
    const signedIn = at(slow, new Map())
    expect((await signedIn.post('/login', { username: 'bo', password: goodPassword })).status).toBe(200)
    const statuses = async () =>
      Promise.all([slow, fast].map(async (each) => (await at(each, signedIn.jar).get('/api/auth/me')).status))
    await until('both instances know of the end', () =>
      [slow, fast].every(({ app }) => app.rooms.endedSessions.refusesToken({ sid: '', gen: 0, userId, iat: 0 })),
    )
    expect(await statuses()).toEqual([200, 200])
    expect((await signedIn.post('/api/auth/refresh')).status).toBe(200)
    expect(await statuses()).toEqual([200, 200])
    expect((await signedIn.act('/api/auth/step-up', { password: goodPassword })).status).toBe(200)
    expect(await statuses()).toEqual([200, 200])
  }
})

it('refreshes at both instances at the same moment are a race, and no theft', async () => {
  const tab = await slow.signedUp('cy')
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) => at(index % 2 === 0 ? slow : fast, tab.jar).post('/api/auth/refresh')),
  )
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
  const successors = answers.map(({ setCookies }) => setCookies.find((cookie) => cookie.startsWith('refresh_token=')))
  expect(new Set(successors.map((cookie) => cookie?.split(';')[0])).size).toBe(1)
})

it('a link that takes a change back works for seven days, also at an instance whose clock is wrong', async () => {
  const changes = createEmailChanges(slow)
  await changes.change(await slow.signedUp('dee'), 'dee@example.org')
  const purge = createExpiredRows({ clock: wrong.clock }).find(({ name }) => name === 'purge undos')
  expect(await purge?.run(wrong.sql, 10)).toBe(0)
  expect(await wrong.app.rooms.users.reservedFor('dee@example.com')).toBeDefined()
  const token = await changes.undoToken('dee@example.com', /was changed/)
  expect((await at(wrong, new Map()).post('/api/auth/email/undo', { token })).status).toBe(204)
  expect(await changes.emailOf('dee')).toBe('dee@example.com')

  await slow.signedUp('eli')
  const fromWrong = at(wrong, new Map())
  expect((await fromWrong.post('/login', { username: 'eli', password: goodPassword })).status).toBe(200)
  expect((await fromWrong.send('PATCH', '/api/auth/account', { username: 'eli-2' }, { csrf: true })).status).toBe(200)
  const lifetimes = `select expires_at between now() + interval '6 days' and now() + interval '7 days' as is_right
    from undos where kind = 'username'`
  expect(await slow.sql.query(lifetimes)).toEqual([{ is_right: true }])
  expect((await changes.undoFactor(await changes.undoToken('eli@example.com'))).status).toBe(204)
})

it('an application that asks for a new proof gets one, and not two, whichever instance the user comes to', async () => {
  const { id } = await addApplication(slow, { name: 'Notes' })
  await slow.signedUp('gus')
  for (const [here, there] of [
    [fast, slow],
    [slow, fast],
  ] as const) {
    const tab = at(here, new Map())
    expect((await tab.post('/login', { username: 'gus', password: goodPassword })).status).toBe(200)
    const asking = (instance: Latchkey, body: object) => at(instance, tab.jar).post('/api/auth/authorization', body)
    await until('the provider is open', async () => (await asking(there, { request: 'none' })).status === 200)
    for (const [name, value] of [
      ['prompt', 'login'],
      ['max_age', '0'],
    ] as const)
      expect((await asking(there, { parameters: parametersFor(id, { [name]: value }) })).body.next).toBe('prove')
    const asked = at(there, tab.jar)
    const { body: waiting } = await asked.post('/api/auth/authorization', {
      parameters: parametersFor(id, { prompt: 'login' }),
    })
    const prover = at(here, asked.jar)
    expect((await prover.act('/api/auth/step-up', { password: goodPassword })).status).toBe(200)
    const { body: done } = await at(there, prover.jar).post('/api/auth/authorization', { request: waiting.request })
    expect(done.next).toBe('done')
  }
})
