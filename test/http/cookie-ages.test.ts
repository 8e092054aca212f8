import { afterAll, beforeAll, expect, it } from 'vitest'
import { days, minutes } from '../../src/lib/durations.js'
import { addAuthenticator } from '../support/authenticator.js'
import { createBrowser } from '../support/client.js'
import { createCookieJar } from '../support/cookie-jar.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'

// Here the browser forgets each cookie in time, so one that is kept too short signs a user out, and one that is kept too long shows.

let latchkey: Latchkey
beforeAll(async () => {
  latchkey = await startLatchkey({ settings: { SESSION_MAX_AGE: '45d', TRUSTED_DEVICES: '20d' } })
})
afterAll(() => latchkey?.stop())

const signIn = async (username: string, tab = createBrowser(latchkey.url, createCookieJar([], latchkey.clock))) => ({
  tab,
  status: (await tab.post('/login', { username, password: goodPassword })).status,
})
const refresh = async ({ post }: ReturnType<typeof createBrowser>) => (await post('/api/auth/refresh')).status
const kept = ({ jar }: ReturnType<typeof createBrowser>) => {
  jar.header()
  return ['access_token', 'refresh_token', 'trusted_device', 'known_device'].filter((name) => jar.has(name))
}

it('keeps the access token for a quarter of an hour, and the session as long as it is used and not too old', async () => {
  await latchkey.signedUp('ada')
  const { tab } = await signIn('ada')
  await latchkey.advance(14 * minutes)
  expect(kept(tab)).toEqual(['access_token', 'refresh_token', 'known_device'])
  await latchkey.advance(2 * minutes)
  expect(kept(tab)).toEqual(['refresh_token', 'known_device'])
  await latchkey.advance(29 * days)
  expect(await refresh(tab)).toBe(200)
  // The session is 29 days old, so this token lasts for 16 days and not for 30.
  await latchkey.advance(15 * days)
  expect([await refresh(tab), kept(tab)]).toEqual([200, ['access_token', 'refresh_token', 'known_device']])
  await latchkey.advance(1 * days)
  expect([kept(tab), await refresh(tab)]).toEqual([['known_device'], 401])
})

it('keeps an unused session for 30 days', async () => {
  await latchkey.signedUp('bea')
  const { tab } = await signIn('bea')
  await latchkey.advance(30 * days - 1 * minutes)
  expect(kept(tab)).toEqual(['refresh_token', 'known_device'])
  await latchkey.advance(1 * minutes)
  expect(kept(tab)).toEqual(['known_device'])
})

it('keeps a trusted device as long as the setting says, and a known one for a year', async () => {
  const app = await addAuthenticator(await latchkey.signedUp('cy'), latchkey)
  const { tab } = await signIn('cy')
  expect((await tab.post('/api/auth/second-factor', { code: app.code(), trustDevice: true })).status).toBe(200)
  await latchkey.advance(20 * days - 1 * minutes)
  expect((await signIn('cy', tab)).status).toBe(200)
  await latchkey.advance(1 * minutes)
  expect([(await signIn('cy', tab)).status, kept(tab)]).toEqual([
    202,
    ['access_token', 'refresh_token', 'known_device'],
  ])
  await latchkey.advance(364 * days)
  expect(kept(tab)).toEqual(['known_device'])
  await latchkey.advance(1 * days)
  expect(kept(tab)).toEqual([])
})
