import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { isRefused } from '#contract/outcome.js'
import { operatorClient } from '../../src/http/request-origin.js'
import { minutes } from '../../src/lib/durations.js'
import { readEmail } from '../../src/users/names.js'
import { onlyAddress } from '../providers/provider-setup.js'
import { addAuthenticator, createAuthenticator } from '../support/authenticator.js'
import { type Browser, createBrowser } from '../support/client.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { mailLogin, secretsIn } from '../support/mail-login.js'
import { addPasskey, createPasskey, signInWith as signInWithPasskey } from '../support/passkey.js'
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
/** Two instances on one database: from before the operator asked for anything, and from afterwards. */
let before: Latchkey
let latchkey: Latchkey
/** An instance with another version of the terms. */
let other: Latchkey
/** An instance where every account needs a second factor. */
let strict: Latchkey

beforeAll(async () => {
  providers = await startProviders()
  file = await profileFieldsFile(fields)
  before = await startLatchkey({ settings: { JWT_SECRET } })
  const { databaseUrl, redisUrl = '', redisPrefix } = before.config
  const shared = { JWT_SECRET, DATABASE_URL: databaseUrl, REDIS_URL: redisUrl, REDIS_PREFIX: redisPrefix }
  const settings = { ...providers.settings, ...shared, ...terms, PROFILE_FIELDS_FILE: file.path }
  latchkey = await startLatchkey({ settings: { ...settings, MAIL_SIGN_IN: 'on' }, clock: before.clock })
  other = await startLatchkey({ settings: { ...settings, TERMS_VERSION: '2' }, clock: before.clock })
  strict = await startLatchkey({ settings: { ...settings, SECOND_FACTOR: 'required' }, clock: before.clock })
  // All mails are in one mailbox.
  for (const each of [latchkey, other, strict]) await each.app.rooms.mails.stop()
})
afterAll(async () => {
  for (const each of [strict, other, latchkey, before]) await each.stop()
  await providers.close()
  await file.remove()
})

const login = (tab: Browser, username: string) => tab.post('/login', { username, password: goodPassword })
const profile = { next: 'profile', methods: [] }
const agree = { next: 'terms', methods: [] }
const isSignedIn = async (tab: Browser) => (await tab.get('/api/auth/me')).status === 200
const sessionsOf = (username: string) =>
  before.sql.query<{ methods: string[] }>(
    'select methods from sessions where user_id = (select id from users where username = $1)',
    [username],
  )
/** The text of a mail, whichever instance has queued it. */
const mailTo = async (address: string, pattern: RegExp) => {
  before.app.rooms.mails.nudge()
  return (await before.mailTo(address, pattern)).text
}
const tokenIn = (text: string) => /#token=([\w-]+)/.exec(text)?.[1]
/** From now on, the user is asked for every last step again. */
const askAgain = async (username: string) => {
  await before.sql.query('delete from agreed_terms where user_id = (select id from users where username = $1)', [
    username,
  ])
  await before.sql.query("update users set fields = '{}' where username = $1", [username])
}
/** Signed in by the form of a registration that has asked for everything. */
const registered = async (username: string, asked: object) => {
  const tab = latchkey.browser()
  const email = `${username}@example.com`
  await tab.post('/api/auth/register', { username, email, password: goodPassword, ...asked })
  const token = tokenIn(await mailTo(email, /verify-email#token=/))
  const entered = await tab.post('/api/auth/verify-email', { token })
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
  // The cookie of the step before opens nothing any more.
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
    const atLatchkey = createBrowser(latchkey.url, running.jar)
    expect((await atLatchkey.post('/api/auth/refresh')).status).toBe(200)
    expect(await isSignedIn(atLatchkey)).toBe(true)
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
    // No last step can be answered before the code.
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
    await askAgain('cy')
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

describe('after an enrolment', () => {
  /** How a user without a second factor comes in, by a name of their own. */
  const waysIn: Record<string, (tab: Browser, name: string) => Promise<unknown>> = {
    password: async (tab, name) => {
      await before.signedUp(name)
      await login(tab, name)
    },
    provider: (tab, name) => {
      providers.issuer.become({ sub: name, email: `${name}@example.com` })
      return signInWith(tab, 'provider-a')
    },
    invitation: async (tab, name) => {
      const email = `${name}@example.com`
      const address = readEmail(email)
      if (isRefused(address)) throw new Error(`${email} is no address`)
      const made = await strict.app.rooms.invitations.invite(address, operatorClient('root'))
      const invite = 'token' in made ? made.token : ''
      await tab.post('/api/auth/register', { username: name, email, password: goodPassword, invite })
      await tab.post('/api/auth/verify-email', { token: tokenIn(await mailTo(email, /verify-email#token=/)) })
    },
  }
  const add: Record<string, (tab: Browser) => ReturnType<Browser['act']>> = {
    otp: async (tab) => {
      const { code } = createAuthenticator(String((await tab.act('/api/auth/totp')).body.secret), before)
      return tab.act('/api/auth/totp/confirm', { code: code() })
    },
    passkey: async (tab) => {
      const { body: options } = await tab.act('/api/auth/passkeys/options')
      return tab.act('/api/auth/passkeys', { credential: createPasskey(strict.url).create(options) })
    },
  }

  it.each([
    ['password', 'otp', 'pwd'],
    ['provider', 'passkey', 'provider'],
    ['provider', 'otp', 'provider'],
    ['invitation', 'passkey', 'pwd'],
    ['invitation', 'otp', 'pwd'],
  ] as const)('by %s with %s, both are asked for, and the session has both proofs', async (way, factor, first) => {
    const name = `${way}${factor}`
    const tab = strict.browser()
    await waysIn[way]?.(tab, name)
    expect((await tab.get(path)).body).toMatchObject({ next: 'enrolment', mailedCodeRequired: way !== 'invitation' })
    expect((await tab.post(path, { terms: '1' })).body.code).toBe('other_step')
    if (way !== 'invitation') {
      await tab.post(`${path}/mail`)
      const mail = await mailTo(`${name}@example.com`, /Your code for/)
      const mailedCode = /^\s*([A-Z2-9]{4}-[A-Z2-9]{4})\s*$/m.exec(mail)?.[1]
      expect((await tab.post(path, { mailedCode })).status).toBe(202)
    }
    const earlier = tab.copy()
    const added = await add[factor]?.(tab)
    expect([added?.status, added?.body.next]).toEqual([factor === 'otp' ? 200 : 201, 'profile'])
    if (factor === 'otp') expect(added?.body.recoveryCodes).toHaveLength(10)
    expect((await earlier.get(path)).status).toBe(401)
    await answerBoth(tab)
    expect(await sessionsOf(name)).toContainEqual({ methods: [first, factor] })
  })

  it('a passkey alone is enough, and leads to them at once', async () => {
    const { passkey } = await addPasskey(await before.signedUp('kim'), before.url)
    const tab = strict.browser()
    const asked = await signInWithPasskey(tab, passkey, { origin: strict.url })
    expect([asked.status, asked.body]).toEqual([202, profile])
    await answerBoth(tab)
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
    const reset = await tab.post('/api/auth/reset-password/confirm', {
      token: tokenIn(await mailTo('ada@example.com', /reset-password#token=/)),
      password: 'copper-Meadow-47-lighthouse',
    })
    expect(reset.status).toBe(204)
    const entered = await tab.post('/login', { username: 'ada', password: 'copper-Meadow-47-lighthouse' })
    expect(entered.body).toEqual(agree)
  })

  it('let a user who declines take the data and delete the account, and nothing else', async () => {
    await before.signedUp('eve')
    const [{ id } = { id: '' }] = await before.sql.query<{ id: string }>(
      `with agreed as (insert into agreed_terms select id, '0', now() from users where username = 'eve' returning user_id)
       update users set fields = '{"team": "blue"}' from agreed where id = agreed.user_id returning id`,
    )
    const tab = latchkey.browser()
    await login(tab, 'eve')
    const exported = await tab.get(`${path}/export`)
    expect([exported.status, exported.body]).toMatchObject([
      200,
      { account: { username: 'eve', fields: { team: 'blue' } }, agreedTerms: [{ version: '0' }] },
    ])
    for (const forbidden of ['/api/auth/me', '/api/auth/account', '/api/auth/export'])
      expect((await tab.get(forbidden)).status).toBe(401)
    const typo = await tab.post(`${path}/delete`, { username: 'ada' })
    expect(typo.body.code).toBe('other_username')
    expect((await tab.post(`${path}/delete`, { username: 'eve' })).status).toBe(204)
    expect(await before.sql.query('select 1 from users where id = $1', [id])).toEqual([])
    expect(await before.sql.query('select 1 from agreed_terms where user_id = $1', [id])).toEqual([])
    const [event] = await before.sql.query(
      "select ip from events where kind = 'account_deleted' order by id desc limit 1",
    )
    expect(event).toEqual({ ip: '' })
    expect((await tab.get(`${path}/export`)).status).toBe(401)
  })

  it('leave nothing of a deleted account in the browser, and all of another one', async () => {
    const values = (tab: Browser, name: string) => tab.jar.get(name)?.split('.') ?? []
    const tab = latchkey.browser()
    const earlier = createBrowser(before.url, tab.jar)
    const app = await addAuthenticator(await before.signedUp('lea'), before)
    await before.advance(1 * minutes)
    await login(earlier, 'lea')
    await earlier.post(path, { code: app.code() })
    const ofLea = values(tab, 'known_device')
    await before.signedUp('mio')
    expect((await login(earlier, 'mio')).status).toBe(200)
    const ofMio = values(tab, 'known_device').filter((value) => !ofLea.includes(value))
    await before.advance(1 * minutes)
    await login(tab, 'lea')
    await tab.post(path, { code: app.code(), trustDevice: true })
    expect([ofLea, ofMio, values(tab, 'trusted_device')].map(({ length }) => length)).toEqual([1, 1, 1])
    expect((await tab.post(`${path}/delete`, { username: 'lea' })).status).toBe(204)
    expect(values(tab, 'known_device')).toEqual(ofMio)
    for (const cleared of ['trusted_device', 'challenge']) expect(values(tab, cleared)).toEqual([])
    expect((await earlier.get('/api/auth/me')).body).toMatchObject({ user: { username: 'mio' } })
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

  it('are answered once, by the browser that was asked, and in time', async () => {
    await before.signedUp('gil')
    await before.sql.query('update users set fields = \'{"costcenter": "1"}\' where username = \'gil\'')
    const asked = async () => {
      const tab = latchkey.browser()
      expect((await login(tab, 'gil')).body).toEqual(agree)
      return tab
    }
    const [one, late] = [await asked(), await asked()]
    expect((await latchkey.browser().post(path, { terms: '1' })).body.code).toBe('challenge_over')
    const before10 = (await sessionsOf('gil')).length
    const answers = await Promise.all(Array.from({ length: 10 }, () => one.copy().post(path, { terms: '1' })))
    const given = answers.map(({ status, body }) => (status === 200 ? 'signed in' : body.code)).sort()
    expect(given).toEqual([...Array.from({ length: 9 }, () => 'challenge_over'), 'signed in'])
    expect(await sessionsOf('gil')).toHaveLength(before10 + 1)
    await before.advance(11 * minutes)
    expect((await late.post(path, { terms: '1' })).body.code).toBe('challenge_over')
    expect((await late.get(`${path}/export`)).status).toBe(401)
    expect(await sessionsOf('gil')).toHaveLength(before10 + 1)
  })

  it('let no one leave whose session would not be fresh: neither a trusted device nor an old sign-in at a provider', async () => {
    const stale = async (tab: Browser, username: string, methods: readonly string[]) => {
      const exported = await tab.get(`${path}/export`)
      expect([exported.status, exported.body]).toMatchObject([403, { code: 'fresh_sign_in_required', methods }])
      expect((await tab.post(`${path}/delete`, { username })).body.code).toBe('fresh_sign_in_required')
    }
    const app = await addAuthenticator(await before.signedUp('hana'), before)
    const trusting = latchkey.browser()
    await login(trusting, 'hana')
    await trusting.post(path, { code: app.code(), trustDevice: true })
    expect((await trusting.get(`${path}/export`)).status).toBe(200)
    await answerBoth(trusting)
    await askAgain('hana')
    expect((await login(trusting, 'hana')).body).toEqual(profile)
    await stale(trusting, 'hana', ['totp', 'recovery_code'])

    // This provider does not say when its user has signed in there.
    providers.github.become({ login: 'ivo' }, onlyAddress('ivo@example.com'))
    const tab = latchkey.browser()
    await signInWith(tab, 'provider-b')
    // A new account has nothing to guard.
    expect((await tab.get(`${path}/export`)).status).toBe(200)
    await answerBoth(tab)
    await askAgain('ivo')
    await signInWith(tab, 'provider-b')
    await stale(tab, 'ivo', ['mail'])

    // A sign-in by mail is enough for a user who has nothing else, and for no other user.
    const byMail = async (username: string) => {
      const asking = latchkey.browser()
      await asking.post(mailLogin, { email: `${username}@example.com` })
      const { code } = secretsIn(await mailTo(`${username}@example.com`, /login#mail=/))
      expect((await asking.post(`${mailLogin}/confirm`, { code })).status).toBe(202)
      return asking
    }
    await before.signedUp('jana')
    await stale(await byMail('jana'), 'jana', ['password'])
    const leaving = await byMail('ivo')
    expect((await leaving.get(`${path}/export`)).body).toMatchObject({ account: { username: 'ivo' } })
    expect((await leaving.post(`${path}/delete`, { username: 'ivo' })).status).toBe(204)
    expect(await before.app.rooms.users.findByLogin('ivo')).toBeUndefined()
    const withApp = await byMail('hana')
    expect((await withApp.get(`${path}/export`)).body.code).toBe('other_step')
    await before.advance(1 * minutes)
    await withApp.post(path, { code: app.code() })
    expect((await withApp.get(`${path}/export`)).status).toBe(200)
  })

  it('need an address to read them at', async () => {
    const starting = startLatchkey({ stores: 'own', settings: { TERMS_VERSION: '1' } })
    await expect(starting).rejects.toThrow(/TERMS_VERSION: needs TERMS_URL/)
  })
})
