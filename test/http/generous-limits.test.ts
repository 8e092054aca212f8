import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Browser } from '../support/client.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'

let latchkey: Latchkey
beforeAll(async () => {
  const settings = {
    LOGIN_LIMIT: '5/15m',
    SIGN_IN_LIMIT: '3/1h',
    NETWORK_SIGN_IN_LIMIT: '5/1h',
    NETWORK_MAIL_LIMIT: '8/1h',
  }
  latchkey = await startLatchkey({ settings })
})
afterAll(() => latchkey.stop())

let networks = 0
const freshAddress = () => `198.51.100.${++networks}`

const signIn = (username: string, address: string, tab = latchkey.browser(), password = goodPassword) =>
  tab.post('/login', { username, password }, { address })
const limitedEvents = (reason: string) =>
  latchkey.sql.query("select user_id, username from events where kind = 'rate_limited' and reason = $1", [reason])

it('a program that signs in again and again is told so, however many networks it has, and stops no browser of the owner', async () => {
  const owner = await latchkey.signedUp('ada')
  const statuses = []
  for (let round = 0; round < 3; round++) statuses.push((await signIn('ada', freshAddress())).status)
  expect(statuses).toEqual([200, 200, 200])
  const address = freshAddress()
  for (let round = 0; round < 7; round++) {
    const { status, body, headers } = await signIn('ada', address)
    const retryAfter = Number(headers.get('retry-after'))
    expect([status, body]).toEqual([
      429,
      { error: 'Too many login attempts', message: 'Please try again after 60 minutes', retryAfter },
    ])
    expect(headers.get('ratelimit-policy')).toBe('"sign_ins";q=3;w=3600')
    expect(retryAfter).toBeGreaterThan(3000)
  }
  // The program has sent no wrong password, so other users of its network are not stopped, and a guess is answered as usual.
  await latchkey.signedUp('grace')
  expect((await signIn('grace', address)).status).toBe(200)
  expect((await signIn('ada', address, latchkey.browser(), 'a guess')).status).toBe(401)
  expect((await signIn('ada', freshAddress(), owner)).status).toBe(200)
  const user = await latchkey.app.rooms.users.findByLogin('ada')
  expect(await limitedEvents('sign_ins')).toEqual([{ user_id: user?.id, username: 'ada' }])
  // Three of the program and one of the owner, which replaced that of the registration. What was refused has begun no session.
  const sessions = await latchkey.sql.query('select 1 from sessions where user_id = $1', [user?.id])
  expect(sessions).toHaveLength(4)
})

it('a thief who knows the password does not lock the owner out, not even in a known browser; a new password counts anew', async () => {
  const owner = await latchkey.signedUp('eve')
  const burst = async (cookie?: string) => {
    const statuses = []
    for (let round = 0; round < 4; round++) {
      const tab = latchkey.browser()
      if (cookie !== undefined) tab.jar.set('known_device', cookie)
      statuses.push((await signIn('eve', freshAddress(), tab)).status)
      // As a browser that keeps its newest cookie would.
      cookie &&= tab.jar.get('known_device')
    }
    return statuses
  }
  const thief = latchkey.browser()
  expect((await signIn('eve', freshAddress(), thief)).status).toBe(200)
  expect(await burst(thief.jar.get('known_device'))).toEqual([200, 200, 200, 429])
  expect(await burst()).toEqual([200, 200, 429, 429])
  expect((await owner.get('/api/auth/me')).status).toBe(200)
  expect((await signIn('eve', freshAddress(), owner)).status).toBe(200)

  // In a browser that the account has not seen, and then in one more.
  const newPassword = 'quiet Meadow 77 lantern!'
  const elsewhere = latchkey.browser()
  const address = freshAddress()
  await elsewhere.post('/reset-password', { email: 'eve@example.com' }, { address })
  const token = /#token=([\w-]+)/.exec((await latchkey.mailTo('eve@example.com', /reset-password#/)).text)?.[1]
  const confirmed = await elsewhere.post('/api/auth/reset-password/confirm', { token, password: newPassword })
  expect(confirmed.status).toBe(204)
  expect((await signIn('eve', address, elsewhere, newPassword)).status).toBe(200)
  for (let round = 0; round < 3; round++)
    expect((await signIn('eve', freshAddress(), latchkey.browser(), newPassword)).status).toBe(200)
  expect((await signIn('eve', freshAddress(), latchkey.browser(), newPassword)).status).toBe(429)
  const change = { currentPassword: newPassword, newPassword: goodPassword }
  expect((await elsewhere.act('/api/auth/change-password', change)).status).toBe(204)
  expect((await signIn('eve', freshAddress())).status).toBe(200)
})

it('many accounts of one network are limited together', async () => {
  const address = freshAddress()
  const people = ['b1', 'b2', 'b3']
  for (const name of people) await latchkey.signedUp(name)
  const statuses = []
  for (const name of [...people, ...people]) statuses.push((await signIn(name, address)).status)
  expect(statuses).toEqual([200, 200, 200, 200, 200, 429])
  expect((await signIn('b3', freshAddress())).status).toBe(200)
  expect(await limitedEvents('network_sign_ins')).toHaveLength(1)
})

it('a connection that floods the queue of passwords is refused, and others are not', async () => {
  const settings = { WORKER_THREADS: '1', WORKER_QUEUE: '4', BCRYPT_COST: '10' }
  const flooded = await startLatchkey({ settings })
  const guess = (address: string) =>
    flooded.browser().post('/login', { username: 'nobody', password: 'a guess' }, { address })
  let isOver = false
  const refused: unknown[] = []
  const flood = async (_: unknown, index: number) => {
    while (!isOver) {
      // Each in a /56 of its own, all in one /48.
      const { status, headers } = await guess(`2001:db8:0:${index + 10}00::1`)
      if (status !== 503) continue
      refused.push(headers.get('retry-after'))
      await pause(100)
    }
  }
  const flooding = Promise.all(Array.from({ length: 12 }, flood))
  await expect.poll(() => refused.length).toBeGreaterThan(10)
  const strangers = []
  for (let round = 0; round < 2; round++)
    strangers.push(...(await Promise.all([1, 2, 3].map((n) => guess(`203.0.113.${n}`)))))
  isOver = true
  await flooding
  expect(strangers.map(({ status }) => status)).toEqual(Array(6).fill(401))
  for (const retryAfter of refused) expect(Number(retryAfter)).toBeGreaterThan(0)
  await flooded.stop()
})

it('one connection causes only so many mails to others, and the answers do not show it', async () => {
  const owner = await latchkey.signedUp('carol')
  await latchkey.signedUp('dave')
  // Different networks of one IPv6 /56.
  const networksOfHome = ['2001:db8:0:100::1', '2001:db8:0:1ff::1', '2001:db8:0:142::7']
  const register = (name: string, index: number): Promise<{ status: number; body: unknown }> => {
    const person = { username: name, email: `${name}@example.net`, password: goodPassword }
    return latchkey.browser().post('/api/auth/register', person, { address: networksOfHome[index % 3] ?? '' })
  }
  const answers = []
  for (let index = 0; index < 10; index++) answers.push(await register(`stranger${index}`, index))
  for (const { status, body } of answers) expect([status, body]).toEqual([202, answers[0]?.body])
  const mailed = (address: string, text = '') =>
    latchkey.mails().filter((mail) => mail.to === address && mail.text.includes(text)).length
  await expect.poll(() => mailed('stranger7@example.net')).toBe(1)

  const from = (address: string) => ({ address })
  const home = networksOfHome[0] ?? ''
  const asks = async (tab: Browser, address: string) => [
    (await tab.post('/reset-password', { email: 'dave@example.com' }, from(address))).status,
    (await tab.send('POST', '/api/auth/email', { email: 'carol@example.net' }, { csrf: true, address })).status,
  ]
  expect(await asks(owner, home)).toEqual([202, 202])
  // Another connection is not concerned, and its mails are sent after all of these.
  expect(await asks(owner, '2001:db8:0:200::1')).toEqual([202, 202])
  await expect.poll(() => mailed('carol@example.net')).toBe(1)
  await expect.poll(() => mailed('dave@example.com', 'reset-password#')).toBe(1)
  for (const index of [8, 9]) expect(mailed(`stranger${index}@example.net`)).toBe(0)
  expect(await limitedEvents('network_mails')).toHaveLength(1)
})
