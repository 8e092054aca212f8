import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type AdminUserDetails, adminPath } from '#contract/admin/admin-bodies.js'
import { openRoomsForCommand } from '../../src/commands/open-for-commands.js'
import { minutes } from '../../src/lib/durations.js'
import { createKnownTokens } from '../../src/personal-tokens/known-tokens.js'
import { newToken } from '../../src/personal-tokens/token-text.js'
import { type Database, StoreUnavailable } from '../../src/platform/database/database.js'
import { idOf, signedUpInGroup } from '../support/administrators.js'
import { addApplication } from '../support/applications.js'
import type { Browser } from '../support/client.js'
import { createMovableClock } from '../support/clock.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'
import { latchkey as run } from '../support/terminal.js'
import { until } from '../support/until.js'

let latchkey: Latchkey
let wiki: string
let root: Awaited<ReturnType<typeof signedUpInGroup>>
let ada: Browser
let adaId: string

beforeAll(async () => {
  const settings = {
    ADMIN_GROUP: 'admins',
    JWT_SECRET: 'c6M0xkq2Vw9nYb4RtL8sHd3PzJ7gFa5EuN1oKi0WvTqXyBmCrGhSlDjZfUeApIxO',
  }
  latchkey = await startLatchkey({ settings })
  const proxy = { home: 'https://wiki.example.com/', redirectAddresses: [], proxyOrigin: 'https://wiki.example.com' }
  wiki = (await addApplication(latchkey, { name: 'Wiki', ...proxy })).id
  root = await signedUpInGroup(latchkey, 'root1', 'admins')
  ada = await latchkey.signedUp('ada')
  adaId = await idOf(latchkey, 'ada')
  await until('the application is known', async () => {
    const { body } = await ada.get('/api/auth/tokens')
    return (body.applications as object[]).length === 1
  })
})
afterAll(() => latchkey.stop())

const store = { openRooms: (role: 'service role' | 'table owner') => openRoomsForCommand(latchkey.config, role) }
const command = (...args: string[]) => run(store, args)
const made = async (tab = ada, name = 'Phone') => {
  const { status, body } = await tab.act('/api/auth/tokens', { name, applications: [wiki] })
  expect(status).toBe(201)
  return body as unknown as { id: string; token: string }
}

describe('an operator', () => {
  it('sees the tokens of a user, and ends one', async () => {
    expect((await command('user', 'tokens', 'ada')).out).toContain('ada has no personal tokens.')
    const { id, token } = await made()
    const listed = await command('user', 'tokens', 'ada')
    expect(listed.out).toMatch(new RegExp(`^${id} +Phone +Wiki +\\S+ +\\S+ +never$`, 'm'))
    expect(listed.out).not.toContain(token)
    const json = JSON.parse((await command('user', 'tokens', 'ada', '--json')).out)
    expect(json).toMatchObject({ id, name: 'Phone', applications: [{ id: wiki, name: 'Wiki' }], lastUsedAt: null })
    expect(await command('user', 'tokens', 'root1', '--end', id)).toMatchObject({ code: 1, err: expect.any(String) })
    expect((await command('user', 'tokens', 'ada', '--end', 'nonsense')).code).toBe(1)
    expect((await command('user', 'tokens', 'ada', '--end', id)).out).toContain('Ended the token Phone of ada.')
    expect((await command('user', 'tokens', 'ada', '--end', id)).code).toBe(1)
    const [event] = await latchkey.sql.query("select ip, reason from events where kind = 'token_ended'")
    expect(event).toEqual({ ip: 'command line', reason: 'Phone' })
  })

  it('refuses tokens for an application, and takes them again', async () => {
    const shown = async () => JSON.parse((await command('application', 'show', 'Wiki', '--json')).out).tokens
    expect((await command('application', 'change', 'Wiki', '--no-tokens')).code).toBe(0)
    expect(await shown()).toBe(false)
    expect((await command('application', 'show', 'Wiki')).out).toMatch(/^personal tokens +not taken$/m)
    expect((await command('application', 'change', 'Wiki', '--tokens')).code).toBe(0)
    expect(await shown()).toBe(true)
  })

  it('ends all tokens together with all sessions', async () => {
    const bea = await latchkey.signedUp('bea')
    await until('the application is known', async () => {
      const { body } = await bea.get('/api/auth/tokens')
      return (body.applications as object[]).length === 1
    })
    await made(bea)
    const rooms = latchkey.app.rooms
    expect(await rooms.personalTokens.endSome(10)).toBe(1)
    expect(await rooms.personalTokens.endSome(10)).toBe(0)
  })
})

describe('an administrator', () => {
  const detailsOf = async () => (await root.tab.get(`${adminPath}/users/${adaId}`)).body as unknown as AdminUserDetails
  const end = (id: string, body: object) =>
    root.tab.send('POST', `${adminPath}/users/${id}/end-token`, body, { csrf: true })

  it('sees the tokens of a user, and ends one with a reason', async () => {
    const { id, token } = await made()
    const details = await detailsOf()
    expect(details.tokens).toMatchObject([{ id, name: 'Phone', applications: [{ name: 'Wiki' }] }])
    expect(JSON.stringify(details)).not.toContain(token)
    expect((await end(adaId, { token: id })).status).toBe(400)
    expect((await end(adaId, { token: 'nonsense', reason: 'lost' })).status).toBe(400)
    expect((await end(await idOf(latchkey, 'bea'), { token: id, reason: 'lost' })).status).toBe(404)
    expect((await end('nobody', { token: id, reason: 'lost' })).status).toBe(404)
    expect((await end(adaId, { token: id, reason: 'lost phone' })).status).toBe(204)
    expect((await detailsOf()).tokens).toEqual([])
    const events = await latchkey.sql.query(
      "select actor_name, actor_reason from events where kind = 'token_ended' and actor_id is not null",
    )
    expect(events).toEqual([{ actor_name: 'root1', actor_reason: 'lost phone' }])
  })

  it('is the only one who can', async () => {
    const { id } = await made()
    const asked = await ada.send(
      'POST',
      `${adminPath}/users/${adaId}/end-token`,
      { token: id, reason: 'x' },
      { csrf: true },
    )
    expect(asked.status).toBe(404)
  })
})

describe('while the database is away', () => {
  it('a token that is remembered goes on for a time, and any other waits', async () => {
    const clock = createMovableClock()
    let isAway = false
    const database = {
      ...latchkey.sql,
      query: (...asked: Parameters<Database['query']>) =>
        isAway ? Promise.reject(new StoreUnavailable('away')) : latchkey.sql.query(...asked),
    } as Database
    const { endedSessions } = latchkey.app.rooms
    const log = { warn: () => undefined }
    const knownTokens = createKnownTokens({ database, clock, endedSessions, log })
    const { id, token } = await made()
    const wrong = newToken()
    expect(await knownTokens.find(token)).toMatchObject({ id, user: { username: 'ada' } })
    expect(await knownTokens.find(wrong)).toBeUndefined()
    isAway = true
    expect(await knownTokens.find(token)).toMatchObject({ id })
    expect(await knownTokens.find(wrong)).toBeUndefined()
    expect(await knownTokens.find('lk_no-token')).toBeUndefined()
    await expect(knownTokens.find(newToken())).rejects.toThrow(StoreUnavailable)
    clock.advance(10 * minutes)
    expect(await knownTokens.find(token)).toMatchObject({ id })
    clock.advance(5 * minutes)
    await expect(knownTokens.find(token)).rejects.toThrow(StoreUnavailable)
    isAway = false
    expect(await knownTokens.find(token)).toMatchObject({ id })
    await latchkey.sql.query('delete from personal_tokens where id = $1', [id])
    await until('it has ended', async () => (await knownTokens.find(token)) === undefined)
  })
})

describe('with PERSONAL_TOKENS=off', () => {
  it('nobody makes a token, one that is there opens nothing, and can be ended', async () => {
    const settings = { PERSONAL_TOKENS: 'off', TRUST_PROXY: '127.0.0.1' }
    const off = await startLatchkey({ settings })
    try {
      const proxy = {
        home: 'https://wiki.example.com/',
        redirectAddresses: [],
        proxyOrigin: 'https://wiki.example.com',
      }
      const { id: application } = await addApplication(off, { name: 'Wiki', ...proxy })
      const tab = await off.signedUp('cid')
      const headers = {
        'x-forwarded-method': 'GET',
        'x-forwarded-proto': 'https',
        'x-forwarded-host': 'wiki.example.com',
        'x-forwarded-uri': '/',
      }
      const check = (more: object) =>
        tab.send('GET', '/api/auth/forward', undefined, { headers: { ...headers, ...more } })
      const { protectedApplications } = off.app.rooms
      await until('the application is known', async () => protectedApplications.find(proxy.proxyOrigin) !== undefined)
      expect((await tab.act('/api/auth/tokens', { name: 'Phone', applications: [application] })).status).toBe(400)
      expect((await tab.get('/api/auth/tokens')).body).toEqual({ tokens: [], applications: [] })
      const token = newToken()
      const rows = await off.sql.query<{ id: string }>(
        `insert into personal_tokens (id, user_id, name, hash, applications, created_at, expires_at)
         select gen_random_uuid(), id, 'Phone', sha256($1), array[$2], now(), now() + interval '1 day' from users returning id`,
        [Buffer.from(token), application],
      )
      expect((await check({ authorization: `Bearer ${token}` })).status).toBe(401)
      expect((await tab.remove(`/api/auth/tokens/${rows[0]?.id}`)).status).toBe(204)
    } finally {
      await off.stop()
    }
  })
})
