import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { minutes } from '../../src/lib/durations.js'
import { addAuthenticator } from '../support/authenticator.js'
import type { Browser } from '../support/client.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { addPasskey, signInWith as signInWithPasskey } from '../support/passkey.js'
import { profileFieldsFile } from '../support/profile-fields.js'
import { signInWith, startProviders, type TestProviders } from '../support/providers/test-providers.js'

const path = '/api/auth/second-factor'
const JWT_SECRET = 'c6M0xkq2Vw9nYb4RtL8sHd3PzJ7gFa5EuN1oKi0WvTqXyBmCrGhSlDjZfUeApIxO'
const fields = [
  { key: 'costcenter', type: 'text', labels: { en: 'Cost center' }, required: true },
  { key: 'team', type: 'text', labels: { en: 'Team' }, registration: true },
]
const terms = { TERMS_URL: 'https://example.com/terms', TERMS_VERSION: '1' }

let providers: TestProviders
let file: Awaited<ReturnType<typeof profileFieldsFile>>
/** Before the operator asked for anything, and after it, on one database. */
let before: Latchkey
let latchkey: Latchkey
/** With another version of the terms. */
let other: Latchkey

beforeAll(async () => {
  providers = await startProviders()
  file = await profileFieldsFile(fields)
  before = await startLatchkey({ settings: { JWT_SECRET } })
  const { databaseUrl = '', redisUrl = '', redisPrefix } = before.config
  const shared = { JWT_SECRET, DATABASE_URL: databaseUrl, REDIS_URL: redisUrl, REDIS_PREFIX: redisPrefix }
  const settings = { ...providers.settings, ...shared, ...terms, PROFILE_FIELDS_FILE: file.path }
  latchkey = await startLatchkey({ settings, clock: before.clock })
  other = await startLatchkey({ settings: { ...settings, TERMS_VERSION: '2' }, clock: before.clock })
})
afterAll(async () => {
  for (const each of [other, latchkey, before]) await each.stop()
  await providers.close()
  await file.remove()
})

const login = (tab: Browser, username: string) => tab.post('/login', { username, password: goodPassword })
const profile = { next: 'profile', methods: [] }
const agree = { next: 'terms', methods: [] }
const isSignedIn = async (tab: Browser) => (await tab.get('/api/auth/me')).status === 200
const sessionsOf = (username: string) =>
  before.sql.query<{ methods: string[] }>(
    'select methods from refresh_token_records where user_id = (select id from users where username = $1)',
    [username],
  )
/** Signed in by the form of a registration that has asked for everything. */
const registered = async (username: string, asked: object) => {
  const tab = latchkey.browser()
  const email = `${username}@example.com`
  await tab.post('/api/auth/register', { username, email, password: goodPassword, ...asked })
  const { text } = await latchkey.mailTo(email, /verify-email#token=/)
  const entered = await tab.post('/api/auth/verify-email', { token: /#token=([\w-]+)/.exec(text)?.[1] })
  expect(entered.status).toBe(200)
  return tab
}
/** Answers both steps, and looks at each on the way. */
const answerBoth = async (tab: Browser) => {
  const waiting = await tab.get(path)
  expect(waiting.body).toMatchObject({
    next: 'profile',
    methods: [],
    fields: expect.arrayContaining([expect.objectContaining(fields[0])]),
  })
  const lacking = await tab.post(path, { fields: {} })
  expect([lacking.status, lacking.body.fields]).toEqual([422, [{ key: 'costcenter', fault: 'required' }]])
  const earlier = tab.copy()
  const given = await tab.post(path, { fields: { costcenter: '4711' } })
  expect([given.status, given.body]).toEqual([202, agree])
  // The value that was good for the step before opens nothing any more.
  expect((await earlier.post(path, { terms: '1' })).body.code).toBe('challenge_over')
  expect((await tab.get(path)).body).toMatchObject({ next: 'terms', terms: { version: '1', url: terms.TERMS_URL } })
  expect((await tab.post(path, { terms: '0' })).body.code).toBe('terms_changed')
  expect(await isSignedIn(tab)).toBe(false)
  const done = await tab.post(path, { terms: '1' })
  expect(done.status).toBe(200)
  expect(await isSignedIn(tab)).toBe(true)
}

describe('fields that are required and the terms are asked for last, and once', () => {
  it('after a password', async () => {
    const running = await before.signedUp('ada')
    const tab = latchkey.browser()
    const asked = await login(tab, 'ada')
    expect([asked.status, asked.body]).toEqual([202, profile])
    await answerBoth(tab)
    expect((await login(latchkey.browser(), 'ada')).status).toBe(200)
    // A running session is not asked.
    expect((await running.post('/api/auth/refresh')).status).toBe(200)
    const events = (await tab.get('/api/auth/events')).body.events as { kind: string; reason: string | null }[]
    const kinds = events.map(({ kind, reason }) => `${kind} ${reason}`)
    expect(kinds).toEqual(expect.arrayContaining(['fields_changed costcenter', 'terms_agreed 1', 'signed_in password']))
    const exported = await tab.get('/api/auth/export')
    expect(exported.body.agreedTerms).toMatchObject([{ version: '1' }])
  })

  it('after the second factor, with both proofs in the session', async () => {
    const app = await addAuthenticator(await before.signedUp('bea'), before)
    await before.advance(1 * minutes)
    const tab = latchkey.browser()
    expect((await login(tab, 'bea')).body.next).toBe('second_factor')
    // Nothing of it before the code.
    for (const early of [{ terms: '1' }, { fields: { costcenter: '1' } }])
      expect((await tab.copy().post(path, early)).body.code).toBe('other_step')
    expect((await tab.get(`${path}/export`)).status).toBe(409)
    const asked = await tab.post(path, { code: app.code() })
    expect([asked.status, asked.body]).toEqual([202, profile])
    expect((await tab.post(path, { code: app.code() })).status).toBe(409)
    await answerBoth(tab)
    expect(await sessionsOf('bea')).toContainEqual({ methods: ['pwd', 'otp'] })
  })

  it('after a passkey', async () => {
    const { passkey } = await addPasskey(
      await registered('cy', { fields: { costcenter: '1' }, terms: '1' }),
      latchkey.url,
    )
    await before.sql.query("update users set fields = '{}' where username = 'cy'")
    await before.sql.query('delete from agreed_terms')
    const tab = latchkey.browser()
    const asked = await signInWithPasskey(tab, passkey)
    expect([asked.status, asked.body]).toEqual([202, profile])
    await answerBoth(tab)
    expect(await sessionsOf('cy')).toContainEqual({ methods: ['passkey'] })
  })

  it('after a provider, which also asks for what a registration asks', async () => {
    providers.issuer.become({ sub: 'newcomer', email: 'newcomer@example.com' })
    const tab = latchkey.browser()
    expect((await signInWith(tab, 'provider-a', '?returnTo=/reports')).location).toBe(
      '/second-factor?returnTo=%2Freports',
    )
    const { body } = await tab.get(path)
    expect((body.fields as { key: string }[]).map(({ key }) => key)).toEqual(['costcenter', 'team'])
    await answerBoth(tab)
  })

  it('not after a registration whose form has asked', async () => {
    const tab = latchkey.browser()
    const person = { username: 'dora', email: 'dora@example.com', password: goodPassword }
    const outdated = await tab.post('/api/auth/register', { ...person, terms: '0' })
    expect([outdated.status, outdated.body.code]).toEqual([409, 'terms_changed'])
    await registered('dora', { fields: { costcenter: '1' }, terms: '1' })
  })
})

describe('the terms', () => {
  it('are asked for by version: two instances do not ask in turns', async () => {
    const tab = other.browser()
    expect((await login(tab, 'dora')).body).toEqual(agree)
    expect((await tab.post(path, { terms: '2' })).status).toBe(200)
    for (const each of [latchkey, other, latchkey]) expect((await login(each.browser(), 'dora')).status).toBe(200)
  })

  it('do not stand between a reset and its password', async () => {
    const tab = other.browser()
    await tab.post('/api/auth/reset-password', { email: 'ada@example.com' })
    const { text } = await other.mailTo('ada@example.com', /reset-password#token=/)
    const reset = await tab.post('/api/auth/reset-password/confirm', {
      token: /#token=([\w-]+)/.exec(text)?.[1],
      password: 'copper-Meadow-47-lighthouse',
    })
    expect(reset.status).toBe(204)
    const entered = await tab.post('/login', { username: 'ada', password: 'copper-Meadow-47-lighthouse' })
    expect(entered.body).toEqual(agree)
  })

  it('let a user who declines take the data and delete the account, and nothing else', async () => {
    await before.signedUp('eve')
    const tab = latchkey.browser()
    await login(tab, 'eve')
    const exported = await tab.get(`${path}/export`)
    expect([exported.status, (exported.body.account as { username: string }).username]).toEqual([200, 'eve'])
    for (const forbidden of ['/api/auth/me', '/api/auth/account', '/api/auth/export'])
      expect((await tab.get(forbidden)).status).toBe(401)
    const typo = await tab.post(`${path}/delete`, { username: 'ada' })
    expect(typo.body.code).toBe('other_username')
    expect((await tab.post(`${path}/delete`, { username: 'eve' })).status).toBe(204)
    expect(await before.sql.query("select 1 from users where username = 'eve'")).toEqual([])
    const [event] = await before.sql.query(
      "select ip from events where kind = 'account_deleted' order by id desc limit 1",
    )
    expect(event).toEqual({ ip: '' })
    expect((await tab.get(`${path}/export`)).status).toBe(401)
  })

  it('end with what ends a sign-in that waits: a new password, or a disabled account', async () => {
    await before.signedUp('finn')
    const [one, two] = [latchkey.browser(), latchkey.browser()]
    await login(one, 'finn')
    await before.sql.query("update users set disabled_at = now() where username = 'finn'")
    expect((await one.post(path, { fields: { costcenter: '1' } })).body.code).toBe('challenge_over')
    await before.sql.query("update users set disabled_at = null where username = 'finn'")
    await login(two, 'finn')
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => two.copy().post(path, { fields: { costcenter: '1' } })),
    )
    expect(answers.filter(({ status }) => status === 202)).toHaveLength(1)
  })

  it('need an address to read them at', async () => {
    const starting = startLatchkey({ stores: 'embedded', settings: { TERMS_VERSION: '1' } })
    await expect(starting).rejects.toThrow(/TERMS_VERSION: needs TERMS_URL/)
  })
})
