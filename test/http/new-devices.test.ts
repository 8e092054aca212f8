import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { minutes } from '../../src/lib/durations.js'
import { factsAtStart } from '../../src/sessions/session-facts.js'
import { addAuthenticator } from '../support/authenticator.js'
import type { Browser } from '../support/client.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { goToProvider, signInWith, startProviders, type TestProviders } from '../support/providers/test-providers.js'
import { overtaken } from '../support/waits-for-lock.js'

let providers: TestProviders
let latchkey: Latchkey
beforeAll(async () => {
  providers = await startProviders()
  latchkey = await startLatchkey({ settings: providers.settings })
})
afterAll(async () => {
  await latchkey?.stop()
  await providers?.close()
})

const firefox = 'Mozilla/5.0 (Windows NT 10.0; rv:140.0) Gecko/20100101 Firefox/140.0'
const login = (username: string, tab = latchkey.browser(), headers: Record<string, string> = {}) =>
  tab.post('/login', { username, password: goodPassword }, { headers })

/** The mails about new devices that were queued for an account, whether they are sent yet or not. */
const noticesTo = async (name: string) => {
  const rows = await latchkey.sql.query(
    "select 1 from outgoing_mail where kind = 'new-device' and recipient_key = $1",
    [`${name}@example.com`],
  )
  return rows.length
}
const knownDevices = (tab: Browser) => tab.jar.get('known_device')?.split('.') ?? []

describe('a sign-in on a device that the account has not seen', () => {
  it('sends a mail, from the second sign-in on, and none for a device that is known', async () => {
    const owner = await latchkey.signedUp('ada')
    expect(knownDevices(owner)).toHaveLength(1)
    expect((await login('ada', owner)).status).toBe(200)
    expect(await noticesTo('ada')).toBe(0)
    const elsewhere = latchkey.browser()
    const headers = { 'user-agent': firefox, 'x-forwarded-for': '203.0.113.9' }
    expect((await login('ada', elsewhere, headers)).status).toBe(200)
    const { subject, text } = await latchkey.mailTo('ada@example.com', /New sign-in/)
    expect(subject).toBe('New sign-in to Latchkey')
    expect(text).toMatch(/Device: Firefox on Windows\. IP address: 203\.0\.113\.9\. Time: .* UTC\./)
    // The only link changes nothing when a program opens it.
    expect(text.match(/https?:\S+/g)).toEqual([`${latchkey.url}/forgot-password`])
    expect((await login('ada', elsewhere)).status).toBe(200)
    expect(await noticesTo('ada')).toBe(1)
    for (let round = 0; round < 6; round++) expect((await login('ada')).status).toBe(200)
    expect(await noticesTo('ada')).toBe(5)
  })

  it('sends no mail for the first sign-in of an account that an operator has made', async () => {
    const tab = await latchkey.signedUp('imported')
    await tab.act('/api/auth/logout')
    await latchkey.sql.query("update users set first_signed_in_at = null where username = 'imported'")
    expect((await login('imported')).status).toBe(200)
    expect(await noticesTo('imported')).toBe(0)
    expect((await login('imported')).status).toBe(200)
    expect(await noticesTo('imported')).toBe(1)
  })

  it('sends one mail for a sign-in in two steps, when the session starts', async () => {
    const owner = await latchkey.signedUp('coded')
    const app = await addAuthenticator(owner, latchkey)
    const tab = latchkey.browser()
    expect((await login('coded', tab)).status).toBe(202)
    expect([knownDevices(tab), await noticesTo('coded')]).toEqual([[], 0])
    expect((await tab.post('/api/auth/second-factor', { code: app.code() })).status).toBe(200)
    expect([knownDevices(tab).length, await noticesTo('coded')]).toEqual([1, 1])
  })

  it('knows a browser that a provider sends back without its Strict cookies, and the other accounts in it', async () => {
    const tab = await latchkey.signedUp('family')
    providers.issuer.become({ email: 'family@example.com' })
    /** As a browser does it: the cookie stays in the jar, and is not sent with the callback. */
    const withProvider = async () => {
      const kept = tab.jar.get('known_device') ?? ''
      const callback = await goToProvider(tab, 'provider-a')
      tab.jar.delete('known_device')
      const arrived = await tab.get(callback, {
        headers: { 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'document' },
      })
      if (!arrived.setCookies.some((cookie) => cookie.startsWith('known_device='))) tab.jar.set('known_device', kept)
      return arrived.headers.get('location')
    }
    expect(await withProvider()).toBe('/dashboard')
    expect([knownDevices(tab).length, await noticesTo('family')]).toEqual([1, 0])
    await latchkey.signedUp('brother')
    expect((await login('brother', tab)).status).toBe(200)
    expect([knownDevices(tab).length, await noticesTo('brother')]).toEqual([2, 1])
    expect(await withProvider()).toBe('/dashboard')
    expect([knownDevices(tab).length, await noticesTo('family')]).toEqual([2, 0])
    expect((await login('brother', tab)).status).toBe(200)
    expect(await noticesTo('brother')).toBe(1)
  })

  it('has the address of the account as it is when the session starts, in the mail and in the tokens', async () => {
    await latchkey.signedUp('moving')
    const tab = latchkey.browser()
    const answer = await overtaken(
      latchkey,
      'moving',
      () => login('moving', tab),
      (sql, id) =>
        sql.query(
          "update users set email = 'moved@example.com', email_key = 'moved@example.com', username = 'moved', username_key = 'moved' where id = $1",
          [id],
        ),
    )
    const moved = { username: 'moved', email: 'moved@example.com' }
    expect([answer.status, answer.body.user]).toMatchObject([200, moved])
    expect((await tab.get('/api/auth/verify')).headers.get('x-auth-email')).toBe('moved@example.com')
    expect([await noticesTo('moving'), await noticesTo('moved')]).toEqual([0, 1])
    expect((await tab.post('/api/auth/refresh')).body.user).toMatchObject(moved)
  })
})

describe('the sessions of a user', () => {
  const sessionsOf = async (tab: Browser) =>
    (await tab.get('/api/auth/sessions')).body.sessions as {
      id: string
      current: boolean
      methods: string[]
      provider: string | null
    }[]

  it('say how they were proven', async () => {
    const owner = await latchkey.signedUp('proven')
    providers.issuer.become({ sub: 'proven', email: 'proven@example.com' })
    const other = latchkey.browser()
    await signInWith(other, 'provider-a')
    const mine = (await sessionsOf(other)).map(({ current, methods, provider }) => ({ current, methods, provider }))
    expect(mine).toHaveLength(2)
    expect(mine).toContainEqual({ current: true, methods: ['provider'], provider: 'provider_a' })
    expect(mine).toContainEqual({ current: false, methods: ['pwd'], provider: null })
    const app = await addAuthenticator(owner, latchkey)
    await owner.act('/api/auth/step-up', { code: app.code() })
    expect((await sessionsOf(owner)).map(({ methods }) => methods)).toEqual([['pwd', 'otp']])
  })

  it('are a hundred at most, also when many start at once: the oldest end at once', async () => {
    const first = await latchkey.signedUp('eager')
    await latchkey.advance(1000)
    const second = latchkey.browser()
    await login('eager', second)
    await latchkey.advance(1000)
    const count = async () =>
      (
        await latchkey.sql.query(
          "select 1 from sessions where user_id = (select id from users where username = 'eager')",
        )
      ).length
    const { signIns, users } = latchkey.app.rooms
    const eager = await users.findByLogin('eager')
    if (!eager) throw new Error('The user is gone')
    /** Signs in 75 times, without requests. */
    const signInOften = async (knownDevices: string[]) => {
      const visit = {
        client: { ip: '127.0.0.1', userAgent: '' },
        trustedDevices: [],
        earlierSession: undefined,
        facts: factsAtStart({}),
      }
      for (let round = 0; round < 75; round++) await signIns.byRegistration(eager, { ...visit, knownDevices })
    }
    await signInOften([])
    await Promise.all(Array.from({ length: 25 }, () => login('eager')))
    expect(await count()).toBe(100)
    const ended = await latchkey.sql.query(
      "select 1 from events where kind = 'session_ended' and reason = 'too_many_sessions' and user_id = $1",
      [eager.id],
    )
    expect(ended).toHaveLength(2 + 75 + 25 - 100)
    // The access token of an ended session is refused by this instance at once.
    for (const tab of [first, second]) {
      expect((await tab.get('/api/auth/me')).status).toBe(401)
      expect((await tab.post('/api/auth/refresh')).status).toBe(401)
    }
    // As if another instance, whose clock is ahead, had used the sessions: later than the session that begins now.
    await latchkey.sql.query("update sessions set last_used_at = last_used_at + interval '1 minute'")
    const last = latchkey.browser()
    expect((await login('eager', last)).status).toBe(200)
    expect([await count(), (await last.get('/api/auth/me')).status]).toEqual([100, 200])

    // One browser that signs in again and again ends its own sessions, not those of other browsers.
    await latchkey.advance(2 * minutes)
    expect((await last.post('/api/auth/refresh')).status).toBe(200)
    const known = latchkey.browser()
    await login('eager', known)
    await latchkey.advance(1000)
    const again = () => {
      const tab = latchkey.browser()
      tab.jar.set('known_device', known.jar.get('known_device') ?? '')
      return login('eager', tab)
    }
    await signInOften([known.jar.get('known_device') ?? ''])
    await Promise.all(Array.from({ length: 25 }, again))
    expect([await count(), (await last.get('/api/auth/me')).status]).toEqual([100, 200])
  })
})

it('sessions that are over and not deleted yet push out none that lives', async () => {
  const owner = await latchkey.signedUp('stale')
  const live = "user_id = (select id from users where username = 'stale') and expires_at > created_at"
  const copies = (count: number, changed: string) =>
    latchkey.sql.query(
      `insert into sessions
       select (jsonb_populate_record(r, jsonb_build_object('id', gen_random_uuid(), ${changed}))).*
       from sessions as r, generate_series(1, ${count}) where ${live}`,
    )
  await copies(1, "'last_used_at', r.last_used_at - interval '1 hour'")
  await copies(50, "'browser', null, 'expires_at', r.created_at")
  expect((await login('stale')).status).toBe(200)
  expect(await latchkey.sql.query(`select 1 from sessions where ${live}`)).toHaveLength(3)
  expect((await owner.get('/api/auth/me')).status).toBe(200)
})

it('a provider that is unlinked is told to the owner', async () => {
  const tab = await latchkey.signedUp('linked')
  providers.issuer.become({ sub: 'linked', email: 'linked@example.com' })
  expect((await signInWith(latchkey.browser(), 'provider-a')).location).toBe('/dashboard')
  expect((await tab.remove('/api/auth/providers/provider-a')).status).toBe(204)
  expect((await latchkey.mailTo('linked@example.com', /can no longer/)).text).toContain('was just disconnected')
  expect((await tab.remove('/api/auth/providers/provider-a')).status).toBe(404)
})
