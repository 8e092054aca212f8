import { afterAll, beforeAll, expect, it } from 'vitest'
import { minutes } from '../../src/lib/durations.js'
import { createBrowser } from '../support/client.js'
import { createWrongClock } from '../support/clock.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'

// Two instances of one service, on one database and one Redis, ten minutes apart.
let slow: Latchkey
let fast: Latchkey
beforeAll(async () => {
  slow = await startLatchkey({ clock: createWrongClock(-5 * minutes) })
  const { databaseUrl = '', redisUrl = '', redisPrefix } = slow.config
  const secret = slow.app.platform.secrets.join(',')
  const stores = { DATABASE_URL: databaseUrl, REDIS_URL: redisUrl, REDIS_PREFIX: redisPrefix }
  const settings = { ...stores, JWT_SECRET: secret, PUBLIC_URL: slow.url }
  fast = await startLatchkey({ settings, clock: createWrongClock(5 * minutes) })
  // All mails are in one mailbox.
  await fast.app.nouns.mails.stop()
})
afterAll(async () => {
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

it('a race between them is a race, and no theft', async () => {
  const tab = await slow.signedUp('cy')
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, index) => at(index % 2 === 0 ? slow : fast, tab.jar).post('/api/auth/refresh')),
  )
  expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
  const successors = answers.map(({ setCookies }) => setCookies.find((cookie) => cookie.startsWith('refresh_token=')))
  expect(new Set(successors.map((cookie) => cookie?.split(';')[0])).size).toBe(1)
})
