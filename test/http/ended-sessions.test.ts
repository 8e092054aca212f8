import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { operatorClient } from '../../src/http/request-origin.js'
import type { Sql } from '../../src/platform/database/database.js'
import type { Answer, Browser } from '../support/client.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { unknownSession } from '../support/unknown-session.js'
import { overtaken } from '../support/waits-for-lock.js'

let latchkey: Latchkey
beforeAll(async () => {
  // With `debug` the fast lane would not be used.
  latchkey = await startLatchkey({ settings: { LOG_LEVEL: 'info' } })
})
afterAll(() => latchkey.stop())

it('lets a session that has ended end no other', async () => {
  const tab = await latchkey.signedUp('owner')
  const other = latchkey.browser()
  await other.post('/login', { username: 'owner', password: goodPassword })
  const sessions = (await tab.get('/api/auth/sessions')).body.sessions as { id: string; current: boolean }[]
  const [mine, theirs] = [sessions.find(({ current }) => current), sessions.find(({ current }) => !current)]
  expect((await tab.remove(`/api/auth/sessions/${theirs?.id}`)).status).toBe(204)
  expect((await other.remove(`/api/auth/sessions/${mine?.id}`)).body.code).toBe('not_authenticated')
  expect((await other.act('/api/auth/logout-all')).body.code).toBe('not_authenticated')
  expect((await tab.post('/api/auth/refresh')).status).toBe(200)
})

it('lets a session that ends at this moment end no other', async () => {
  const tab = await latchkey.signedUp('hasty')
  const idOf = async (each: Browser) => (await each.get('/api/auth/me')).body.sessionId
  const requests: ((other: Browser) => Promise<Answer>)[] = [
    (other) => other.act('/api/auth/logout-all'),
    async (other) => other.remove(`/api/auth/sessions/${await idOf(tab)}`),
  ]
  for (const request of requests) {
    const other = latchkey.browser()
    await other.post('/login', { username: 'hasty', password: goodPassword })
    const sid = await idOf(other)
    const end = (sql: Sql) => sql.query('delete from sessions where id = $1', [sid])
    const answer = await overtaken(latchkey, 'hasty', () => request(other), end)
    expect(answer.body.code).toBe('not_authenticated')
    expect((await tab.post('/api/auth/refresh')).status).toBe(200)
  }
})

it('refuses the access token of a session that has ended, at once, for whatever it is used', async () => {
  const tab = await latchkey.signedUp('leaving')
  const thief = tab.copy()
  for (const _ of [1, 2]) expect((await thief.get('/api/auth/verify')).status).toBe(204)
  expect((await tab.act('/api/auth/logout')).status).toBe(204)
  for (const path of ['/api/auth/verify', '/api/auth/me', '/api/auth/account', '/api/auth/sessions']) {
    const { status, body } = await thief.get(path)
    expect([path, status, body.code]).toEqual([path, 401, 'not_authenticated'])
  }
  expect((await thief.act('/api/sensitive')).status).toBe(401)
  expect((await thief.act('/api/auth/logout')).status).toBe(204)
})

it('refuses the other sessions of a user after logout-all, a reset and a change of the password', async () => {
  const tab = await latchkey.signedUp('mover')
  const signIn = async (password = goodPassword) => {
    const other = latchkey.browser()
    await other.post('/login', { username: 'mover', password })
    expect((await other.get('/api/auth/me')).status).toBe(200)
    return other
  }
  const newPassword = 'copper-Lagoon-47-meadow'
  const [first, copied] = [await signIn(), tab.copy()]
  expect((await tab.act('/api/auth/change-password', { currentPassword: goodPassword, newPassword })).status).toBe(204)
  const statuses = await Promise.all([first, copied, tab].map(async (each) => (await each.get('/api/auth/me')).status))
  expect(statuses).toEqual([401, 401, 200])

  const second = await signIn(newPassword)
  expect((await second.act('/api/auth/logout-all')).status).toBe(204)
  expect((await tab.get('/api/auth/me')).status).toBe(401)

  const third = await signIn(newPassword)
  await latchkey.browser().post('/api/auth/reset-password', { email: 'mover@example.com' })
  const token = /#token=([\w-]+)/.exec((await latchkey.mailTo('mover@example.com', /reset-password/)).text)?.[1]
  const body = { token, password: goodPassword }
  expect((await latchkey.browser().post('/api/auth/reset-password/confirm', body)).status).toBe(204)
  expect((await third.get('/api/auth/me')).status).toBe(401)
})

describe('after the restore of a dump, a session that the database does not know', () => {
  const operator = operatorClient('root')
  const statusesOf = async (tab: Browser) => {
    const answers = [
      await tab.get('/api/auth/verify'),
      await tab.get('/api/auth/me'),
      await tab.get('/api/auth/account'),
    ]
    return answers.map(({ status }) => status)
  }
  const signsIn = async (username: string, password = goodPassword) => {
    const tab = latchkey.browser()
    expect((await tab.post('/login', { username, password })).status).toBe(200)
    return statusesOf(tab)
  }
  const accepted = [204, 200, 200]
  const refused = [401, 401, 401]

  it.each<[string, (userId: string) => Promise<unknown>]>([
    ['disabled', (userId) => latchkey.app.rooms.operatorChanges.disable({ userId, client: operator })],
    ['locked down', (userId) => latchkey.app.rooms.operatorChanges.lockDown({ userId, client: operator })],
    ['signed out', (userId) => latchkey.app.rooms.operatorChanges.endSessions({ userId, client: operator })],
    ['deleted', (userId) => latchkey.app.rooms.operatorChanges.remove({ userId, client: operator })],
  ])('is refused at once when its user is %s, and new sign-ins work', async (how, change) => {
    const username = `user-${how.replace(' ', '-')}`
    const other = await latchkey.signedUp(`${username}-2`)
    await latchkey.signedUp(username)
    const { tab, userId } = await unknownSession(latchkey, username)
    expect(await statusesOf(tab)).toEqual(accepted)
    await change(userId)
    expect(await statusesOf(tab)).toEqual(refused)
    expect(await statusesOf(other)).toEqual(accepted)
    if (how === 'deleted') return
    const client = operator
    await latchkey.app.rooms.operatorChanges.enable({ userId, client }, { keepsPassword: true })
    expect(await signsIn(username)).toEqual(accepted)
    expect(await statusesOf(tab)).toEqual(refused)
  })

  it('is refused when a user is disabled who was already disabled in the dump', async () => {
    await latchkey.signedUp('early')
    const { tab, userId } = await unknownSession(latchkey, 'early')
    await latchkey.sql.query('update users set disabled_at = now() where id = $1', [userId])
    expect(await statusesOf(tab)).toEqual([204, 200, 401])
    await latchkey.app.rooms.operatorChanges.disable({ userId, client: operator })
    expect(await statusesOf(tab)).toEqual(refused)
  })
})

it('asks no store in an access check, whether it accepts, refuses, or cannot renew', async () => {
  const tab = await latchkey.signedUp('asker')
  const ended = await latchkey.signedUp('gone')
  const copy = ended.copy()
  await ended.act('/api/auth/logout')
  const query = vi.spyOn(pg.Client.prototype, 'query')
  const rounds = 200
  for (let round = 0; round < rounds; round += 1) {
    expect((await tab.get('/api/auth/verify')).status).toBe(204)
    expect((await copy.get('/api/auth/verify')).status).toBe(401)
    expect((await copy.get('/api/auth/verify?renew=1')).status).toBe(401)
  }
  // What is left runs in the background, at most once or twice a second: the list, the purge, the mails.
  const textOf = (statement: unknown) => (typeof statement === 'string' ? statement : Object(statement).text)
  const texts = () => query.mock.calls.map(([statement]) => String(textOf(statement)))
  await expect.poll(() => texts().some((text) => text.includes('from ended_sessions')), { timeout: 10_000 }).toBe(true)
  const counts = new Map<string, number>()
  for (const text of texts()) counts.set(text, (counts.get(text) ?? 0) + 1)
  query.mockRestore()
  expect([...counts].filter(([, count]) => count >= rounds / 2)).toEqual([])
})
