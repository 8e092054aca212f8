import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { operatorClient } from '../../src/http/request-origin.js'
import { days } from '../../src/lib/durations.js'
import type { Browser } from '../support/client.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { addApplication, noticesOf, sessionOf, useApplication } from '../support/used-applications.js'

const client = operatorClient('root')
let latchkey: Latchkey
beforeAll(async () => {
  latchkey = await startLatchkey()
  await latchkey.app.rooms.groups.add('staff', client)
})
afterAll(() => latchkey.stop())

const resetToken = async (email: string) => {
  await latchkey.browser().post('/api/auth/reset-password', { email })
  return /#token=([\w-]+)/.exec((await latchkey.mailTo(email, /reset-password/)).text)?.[1]
}

const anotherTabOf = async (username: string) => {
  const tab = latchkey.browser()
  await tab.post('/login', { username, password: goodPassword })
  return tab
}

type Ending = (tab: Browser, username: string) => Promise<unknown>
const endings: Record<string, Ending> = {
  'a sign-out': (tab) => tab.act('/api/auth/logout'),
  'a sign-out everywhere': (tab) => tab.act('/api/auth/logout-all'),
  'another browser that ends it': async (tab, username) =>
    (await anotherTabOf(username)).remove(`/api/auth/sessions/${sessionOf(tab).sid}`),
  'a stolen refresh token': async (tab) => {
    const thief = tab.copy()
    await tab.post('/api/auth/refresh')
    await tab.post('/api/auth/refresh')
    await thief.post('/api/auth/refresh')
  },
  'a reset of the password': async (_, username) => {
    const token = await resetToken(`${username}@example.com`)
    return latchkey.browser().post('/api/auth/reset-password/confirm', { token, password: goodPassword })
  },
  'a change of the password in another browser': async (_, username) =>
    (await anotherTabOf(username)).act('/api/auth/change-password', {
      currentPassword: goodPassword,
      newPassword: 'copper-Lagoon-47-meadow',
    }),
  'the sign-in of another user in the same browser': async (tab, username) => {
    await latchkey.signedUp(`${username}2`)
    return tab.post('/login', { username: `${username}2`, password: goodPassword })
  },
  'an account that is disabled': (tab) =>
    latchkey.app.rooms.operatorChanges.disable({ userId: sessionOf(tab).userId, client }),
  'the deletion of the account': (tab, username) => tab.act('/api/auth/delete-account', { username }),
  'a hundred sessions that were used later': async (tab, username) => {
    await latchkey.sql.query(
      `insert into sessions
       select (jsonb_populate_record(r, jsonb_build_object('id', gen_random_uuid(), 'last_used_at', r.last_used_at + interval '1 second'))).*
       from sessions as r, generate_series(1, 100) where r.id = $1`,
      [sessionOf(tab).sid],
    )
    await anotherTabOf(username)
  },
  'plain SQL': (tab) => latchkey.sql.query('delete from sessions where id = $1', [sessionOf(tab).sid]),
  'plain SQL for the user': (tab) => latchkey.sql.query('delete from users where id = $1', [sessionOf(tab).userId]),
  'a truncated table': () => latchkey.sql.query('truncate sessions'),
  'its expiry': async (tab) => {
    await latchkey.sql.query("update sessions set expires_at = now() - interval '1 day' where id = $1", [
      sessionOf(tab).sid,
    ])
    await latchkey.app.rooms.sessions.purge(latchkey.sql, 500)
  },
}

describe('a session that ends', () => {
  const names = Object.keys(endings)
  it.each(names)('by %s is told to the application that was used with it, once', async (name) => {
    const username = `ending${names.indexOf(name)}`
    const tab = await latchkey.signedUp(username)
    const application = await addApplication(latchkey.sql)
    const silent = await addApplication(latchkey.sql, { backchannel: null })
    const used = await useApplication(latchkey.sql, tab, application)
    await useApplication(latchkey.sql, tab, silent)
    await endings[name]?.(tab, username)
    await expect.poll(() => noticesOf(latchkey.sql, application)).toEqual([used])
    expect(await noticesOf(latchkey.sql, silent)).toEqual([])
    expect(await latchkey.sql.query('select 1 from application_sessions where sid = $1', [used.sid])).toEqual([])
  })

  it('in a transaction that is rolled back has not ended for its applications either', async () => {
    const tab = await latchkey.signedUp('undecided')
    const application = await addApplication(latchkey.sql)
    const { sid } = await useApplication(latchkey.sql, tab, application)
    const failing = latchkey.sql.transaction(async (sql) => {
      await sql.query('delete from sessions where id = $1', [sid])
      throw new Error('the database went away')
    })
    await expect(failing).rejects.toThrow('went away')
    expect(await noticesOf(latchkey.sql, application)).toEqual([])
    expect((await tab.get('/api/auth/applications')).body.applications).toHaveLength(1)
  })
})

describe('applications with access', () => {
  const listOf = async (tab: Browser) => (await tab.get('/api/auth/applications')).body.applications

  it('are listed for their user, and their access ends in all sessions at once', async () => {
    const [tab, other] = [await latchkey.signedUp('lister'), await latchkey.signedUp('stranger')]
    expect(await listOf(tab)).toEqual([])
    const application = await addApplication(latchkey.sql, { name: 'Grafana' })
    const second = await anotherTabOf('lister')
    const [here, there] = [
      await useApplication(latchkey.sql, tab, application),
      await useApplication(latchkey.sql, second, application),
    ]
    await useApplication(latchkey.sql, other, application)
    const { userId } = here
    await latchkey.sql.query("insert into consents values ($1, $2, '{openid,email}', now())", [userId, application])
    expect(await listOf(tab)).toEqual([
      {
        id: application,
        name: 'Grafana',
        home: 'https://app.example/',
        since: expect.stringMatching(/Z$/),
        lastUsedAt: expect.stringMatching(/Z$/),
      },
    ])
    const exported = (await tab.get('/api/auth/export')).body
    expect(exported.applications).toEqual(await listOf(tab))
    expect(exported.consents).toMatchObject([{ application: 'Grafana', scopes: ['openid', 'email'] }])

    expect((await tab.send('DELETE', `/api/auth/applications/${application}`)).body.code).toBe('invalid_csrf_token')
    expect((await tab.remove(`/api/auth/applications/${application}`)).status).toBe(204)
    expect(new Set(await noticesOf(latchkey.sql, application))).toEqual(new Set([here, there]))
    expect(await listOf(tab)).toEqual([])
    expect(await listOf(other)).toHaveLength(1)
    expect(await latchkey.sql.query('select 1 from consents where user_id = $1', [userId])).toEqual([])
    expect((await tab.remove(`/api/auth/applications/${application}`)).body.code).toBe('not_found')
    const events = (await tab.get('/api/auth/events')).body.events as { kind: string; reason: string }[]
    const ended = events.filter(({ kind }) => kind === 'application_access_ended')
    expect(ended.map(({ reason }) => reason)).toEqual(['Grafana', 'Grafana'])
  })

  it('need a session, and one that has ended ends none', async () => {
    expect((await latchkey.browser().get('/api/auth/applications')).status).toBe(401)
    const tab = await latchkey.signedUp('gone')
    const application = await addApplication(latchkey.sql)
    await useApplication(latchkey.sql, await anotherTabOf('gone'), application)
    const copy = tab.copy()
    await tab.act('/api/auth/logout')
    expect((await copy.remove(`/api/auth/applications/${application}`)).status).toBe(401)
    expect(await noticesOf(latchkey.sql, application)).toEqual([])
  })

  it('of a group end when the user leaves it, in the same transaction, and those of other groups stay', async () => {
    const tab = await latchkey.signedUp('member')
    const { userId } = sessionOf(tab)
    const change = (wanted: { add?: string[]; remove?: string[] }) =>
      latchkey.app.rooms.groupChanges.change({ userId, client }, wanted)
    await change({ add: ['staff'] })
    await tab.post('/api/auth/refresh')
    const ofStaff = await addApplication(latchkey.sql, { groups: ['staff'] })
    const forAll = await addApplication(latchkey.sql)
    const used = await useApplication(latchkey.sql, tab, ofStaff)
    await useApplication(latchkey.sql, tab, forAll)
    await change({ remove: ['staff'] })
    expect(await noticesOf(latchkey.sql, ofStaff)).toEqual([used])
    expect(await noticesOf(latchkey.sql, forAll)).toEqual([])
    await tab.post('/api/auth/refresh')
    expect(await listOf(tab)).toMatchObject([{ id: forAll }])
  })

  it('are not those of sessions that have expired and wait for the purge', async () => {
    const tab = await latchkey.signedUp('sleeper')
    const first = await anotherTabOf('sleeper')
    await useApplication(latchkey.sql, first, await addApplication(latchkey.sql))
    await latchkey.sql.query('update sessions set expires_at = $2 where id = $1', [
      sessionOf(first).sid,
      new Date(latchkey.clock.now().getTime() - 1 * days),
    ])
    expect(await listOf(tab)).toEqual([])
  })
})
