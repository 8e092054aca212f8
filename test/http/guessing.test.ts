import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hours } from '../../src/lib/durations.js'
import { addAuthenticator } from '../support/authenticator.js'
import { type Browser, createBrowser } from '../support/client.js'
import { createCookieJar } from '../support/cookie-jar.js'
import { createEmailChanges } from '../support/email-changes.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { inLongRun } from '../support/long-run.js'
import { addPasskey, signInWith as signInWithPasskey } from '../support/passkey.js'
import { signInWith, startProviders, type TestProviders } from '../support/providers/test-providers.js'
import { until } from '../support/until.js'

const newPassword = 'copper-Willow-83-anchor'
const limited = {
  error: 'Too many login attempts',
  message: 'Please try again after 15 minutes',
  retryAfter: 900,
}

let networks = 0
const nextAddress = () => {
  networks += 1
  return `198.18.${networks >> 8}.${networks & 255}`
}

const fromManyNetworks = async <Result>(count: number, guess: (address: string) => Promise<Result>, atOnce = 20) => {
  const answers: Result[] = []
  while (answers.length < count) {
    const round = Math.min(atOnce, count - answers.length)
    answers.push(...(await Promise.all(Array.from({ length: round }, () => guess(nextAddress())))))
  }
  return answers
}
const countOf = (answers: { status: number }[], wanted: number) =>
  answers.filter(({ status }) => status === wanted).length

/** A browser with only these cookies of another one. */
const browserWith = (latchkey: Latchkey, of: Browser, ...names: string[]) =>
  createBrowser(latchkey.url, createCookieJar([...of.jar].filter(([name]) => names.includes(name))))

/** The long run has the default. */
const ceiling = inLongRun(100, 25)
const guesses = inLongRun(1000, 80)

describe('guesses from many networks at one account', () => {
  let providers: TestProviders
  let latchkey: Latchkey
  let owner: Browser
  const login = (username: string, password: string, tab = latchkey.browser()) =>
    tab.post('/login', { username, password }, { address: nextAddress() })

  beforeAll(async () => {
    providers = await startProviders()
    // With its own counters: Redis may answer too late on a busy machine, and then an attempt counts twice.
    const limits = { LOGIN_LIMIT: '5/15m', ACCOUNT_LIMIT: `${ceiling}/1h`, REDIS_URL: '' }
    latchkey = await startLatchkey({ settings: { ...providers.settings, ...limits } })
    owner = await latchkey.signedUp('ada')
  })
  afterAll(async () => {
    await latchkey?.stop()
    await providers?.close()
  })

  const eventsOfCeiling = () =>
    latchkey.sql.query(
      `select username, name_mark is not null as is_marked from events
       where kind = 'rate_limited' and reason = 'account' order by id`,
    )
  const guess = (username: string) => (address: string) =>
    latchkey.browser().post('/login', { username, password: 'wrong' }, { address })

  it(`tries ${ceiling} of ${guesses}, and the owner signs in meanwhile in a browser that is known`, async () => {
    const [first, known, second] = [
      await fromManyNetworks(guesses / 2, guess('Ada')),
      await login('ada', goodPassword, owner),
      await fromManyNetworks(guesses / 2, guess(' ADA')),
    ]
    const answers = [...first, ...second]
    expect([countOf(answers, 401), countOf(answers, 429), known.status]).toEqual([ceiling, guesses - ceiling, 200])
    const { body, headers } = answers.at(-1) ?? {}
    expect([body, headers?.get('retry-after')]).toEqual([limited, '900'])
    // The right password is refused, too: an answer must not show that it was right.
    expect((await login('ada', goodPassword)).status).toBe(429)
    // A username and an email are two names.
    expect((await login('ada@example.com', goodPassword)).status).toBe(200)
    expect(await eventsOfCeiling()).toEqual([{ username: 'ada', is_marked: false }])
  })

  it('answers alike for a name that does not exist, and counts nothing for a network that was not let in', async () => {
    const answers = await fromManyNetworks(ceiling + 20, guess('nobody'))
    expect([countOf(answers, 401), countOf(answers, 429)]).toEqual([ceiling, 20])
    const [there, absent] = await Promise.all(['ada', 'nobody'].map((name) => guess(name)(nextAddress())))
    expect(absent?.body).toEqual(there?.body)
    const shown = (answer = there) => [...(answer?.headers.entries() ?? [])].filter(([name]) => name !== 'date')
    const withoutTimes = (entries: [string, string][]) =>
      entries.map(([name, value]) => [name, /reset|^ratelimit$|request-id/.test(name) ? '' : value])
    expect(withoutTimes(shown(absent))).toEqual(withoutTimes(shown(there)))
    // The name without an account is kept as a mark only, which an operator who knows the name can find.
    expect(await eventsOfCeiling()).toContainEqual({ username: null, is_marked: true })
    const end = new Date(latchkey.clock.now().getTime() + hours)
    const query = { since: new Date(0), until: end, kinds: ['rate_limited' as const], limit: 10 }
    expect(await latchkey.app.rooms.events.about({ name: 'nobody' }, query)).toMatchObject([{ reason: 'account' }])
    const address = nextAddress()
    for (let round = 0; round < 6; round++) await guess('nobody')(address)
    const used = `select 1 from counters where key = 'login:${address}' and used > 0`
    await until('the tries are given back', async () => (await latchkey.sql.query(used)).length === 0)
    expect((await guess('somebody-else')(address)).headers.get('ratelimit-remaining')).toBe('4')
  })

  it('takes a browser with an altered cookie, or that of another account, for any other', async () => {
    const other = await latchkey.signedUp('bea')
    expect((await login('ada', goodPassword, browserWith(latchkey, other, 'known_device'))).status).toBe(429)
    const altered = browserWith(latchkey, owner, 'known_device')
    const value = altered.jar.get('known_device') ?? ''
    altered.jar.set('known_device', (value.startsWith('A') ? 'B' : 'A') + value.slice(1))
    expect((await login('ada', goodPassword, altered)).status).toBe(429)
    for (const rubbish of ['x', '.....', `${'A'.repeat(43)}.${'-'.repeat(43)}`, 'A'.repeat(3000)]) {
      altered.jar.set('known_device', rubbish)
      expect((await login('ada', goodPassword, altered)).status).toBe(429)
    }
  })

  it('lets the owner in on a new device by a provider, by a passkey, and by a reset', async () => {
    providers.issuer.become({ email: 'ada@example.com' })
    expect((await signInWith(latchkey.browser(), 'provider-a')).location).toBe('/dashboard')

    const { passkey } = await addPasskey(await latchkey.signedUp('attacked'), latchkey.url)
    await fromManyNetworks(ceiling, guess('attacked'))
    expect((await login('attacked', goodPassword)).status).toBe(429)
    expect((await signInWithPasskey(latchkey.browser(), passkey)).status).toBe(200)
    const device = latchkey.browser()
    await device.post('/api/auth/reset-password', { email: 'attacked@example.com' }, { address: nextAddress() })
    const token = /#token=([\w-]+)/.exec((await latchkey.mailTo('attacked@example.com', /reset-password#/)).text)?.[1]
    const reset = await device.post('/api/auth/reset-password/confirm', { token, password: newPassword })
    expect([reset.status, reset.setCookies]).toEqual([
      204,
      [expect.stringMatching(/^known_device=[\w-]{43}; Max-Age=31536000; Path=\/; HttpOnly; SameSite=Strict$/)],
    ])
    expect((await login('attacked', newPassword)).status).toBe(429)
    expect((await login('attacked', newPassword, device)).status).toBe(200)
  })

  it('gives a stolen cookie ten tries an hour and nothing else', async () => {
    const stolen = () => browserWith(latchkey, owner, 'known_device')
    expect((await stolen().get('/api/auth/me')).status).toBe(401)
    expect((await stolen().post('/api/auth/refresh')).status).toBe(401)
    const tries = await fromManyNetworks(30, (address) =>
      stolen().post('/login', { username: 'ada', password: 'wrong' }, { address }),
    )
    expect([countOf(tries, 401), countOf(tries, 429)]).toEqual([10, 20])
    expect((await login('ada', goodPassword, stolen())).status).toBe(429)
    await latchkey.advance(1 * hours + 1)
    const [thief, right] = [stolen(), await login('ada', goodPassword, owner)]
    expect(right.status).toBe(200)
    // Each sign-in gives the browser a new value: the copy does not use up its tries.
    await fromManyNetworks(12, (address) => thief.post('/login', { username: 'ada', password: 'x' }, { address }))
    await fromManyNetworks(ceiling, guess('ada'))
    expect((await login('ada', goodPassword, thief)).status).toBe(429)
    expect((await login('ada', goodPassword, owner)).status).toBe(200)
  })

  it('counts a known device in its network by default, as any other', async () => {
    const address = nextAddress()
    const fromThere = (password: string) => owner.post('/login', { username: 'ada', password }, { address })
    for (let mistake = 0; mistake < 5; mistake++) expect((await guess('visitor')(address)).status).toBe(401)
    expect((await fromThere(goodPassword)).status).toBe(429)
  })

  it('counts passwords of a step-up and of a password change as well', async () => {
    const withoutDevice = () => browserWith(latchkey, owner, 'access_token', 'csrf_secret')
    expect((await withoutDevice().act('/api/auth/step-up', { password: goodPassword })).status).toBe(429)
    const change = { currentPassword: goodPassword, newPassword }
    const refused = await withoutDevice().act('/api/auth/change-password', change)
    expect([refused.status, refused.body]).toEqual([429, limited])
    expect((await owner.act('/api/auth/step-up', { password: goodPassword })).status).toBe(200)
    const bea = await latchkey.signedUp('step-ups')
    const stranger = browserWith(latchkey, bea, 'access_token', 'csrf_secret')
    const csrf = await stranger.csrfToken()
    const tries = await fromManyNetworks(ceiling + 5, (address) =>
      stranger.post('/api/auth/step-up', { password: 'wrong' }, { address, headers: { 'x-csrf-token': csrf } }),
    )
    expect([countOf(tries, 401), countOf(tries, 429)]).toEqual([ceiling, 5])
    expect((await login('step-ups', goodPassword)).status).toBe(429)
  })

  it('counts the password at the confirmation of a new email address as well', async () => {
    const changes = createEmailChanges(latchkey)
    await changes.ask(await latchkey.signedUp('mover'), 'mover@example.org')
    const token = await changes.confirmToken('mover@example.org')
    const tries = await fromManyNetworks(ceiling + 10, (address) =>
      latchkey.browser().post('/api/auth/email/confirm', { token, password: 'wrong' }, { address }),
    )
    expect([countOf(tries, 401), countOf(tries, 429)]).toEqual([ceiling, 10])
  })

  it('tries ten of a hundred codes, and the owner gets in with a code in a browser that is known', async () => {
    const tab = await latchkey.signedUp('coded')
    const app = await addAuthenticator(tab, latchkey)
    const path = '/api/auth/second-factor'
    const challenged = async (browser: Browser) => {
      expect((await login('coded', goodPassword, browser)).status).toBe(202)
      return browser
    }
    const wrong = [0, 30_000, -30_000, 60_000].map((from) => app.code(from)).includes('000000') ? '000001' : '000000'
    const thieves = await Promise.all(Array.from({ length: 10 }, () => challenged(latchkey.browser())))
    const tries = await fromManyNetworks(100, (address) => {
      const thief = thieves[networks % thieves.length] ?? latchkey.browser()
      return thief.copy().post(path, { code: wrong }, { address })
    })
    expect(tries.filter(({ body }) => body.code === 'wrong_second_factor')).toHaveLength(10)
    expect(countOf(tries, 200)).toBe(0)
    const known = await challenged(browserWith(latchkey, tab, 'known_device'))
    for (let at = 0; at < 4; at++) expect((await known.post(path, { code: wrong })).status).toBe(401)
    expect((await known.post(path, { code: app.code() })).status).toBe(200)
    // However many known devices there are, they have ten wrong codes together.
    await latchkey.advance(60_000)
    const more = await Promise.all(
      [known, known].map((each) => challenged(browserWith(latchkey, each, 'known_device'))),
    )
    for (const device of more) {
      for (let at = 0; at < 3; at++) expect((await device.post(path, { code: wrong })).status).toBe(401)
    }
    expect((await more[0]?.post(path, { code: app.code() }))?.status).toBe(429)
    const again = await challenged(latchkey.browser())
    expect((await again.post(path, { code: app.code(30_000) })).status).toBe(429)
  })
})

it('counts in Redis as in the process', async () => {
  const latchkey = await startLatchkey({ settings: { LOGIN_LIMIT: '5/15m', ACCOUNT_LIMIT: '20/1h' } })
  try {
    const owner = await latchkey.signedUp('ada')
    const guess = (address: string) =>
      latchkey.browser().post('/login', { username: 'ada', password: 'wrong' }, { address })
    const answers = await fromManyNetworks(40, guess, 4)
    expect([countOf(answers, 401), countOf(answers, 429)]).toEqual([20, 20])
    const body = { username: 'ada', password: goodPassword }
    expect((await latchkey.browser().post('/login', body, { address: nextAddress() })).status).toBe(429)
    expect((await owner.post('/login', body, { address: nextAddress() })).status).toBe(200)
    expect((await owner.post('/login', { ...body, password: 'x' }, { address: nextAddress() })).status).toBe(401)
  } finally {
    await latchkey.stop()
  }
})

it('does not stop a known device after the mistakes of a colleague, if that is what the operator wants', async () => {
  const latchkey = await startLatchkey({
    settings: { LOGIN_LIMIT: '5/15m', LOGIN_LIMIT_KNOWN_DEVICES: 'own', NETWORK_SIGN_IN_LIMIT: '1/1h' },
  })
  try {
    const [ada, bea] = [await latchkey.signedUp('ada'), await latchkey.signedUp('bea')]
    const office = '192.0.2.1'
    const login = (tab: Browser, username: string, password = goodPassword) =>
      tab.post('/login', { username, password }, { address: office })
    for (let mistake = 0; mistake < 5; mistake++) expect((await login(ada, 'ada', 'wrong')).status).toBe(401)
    const refused = await login(ada, 'ada')
    expect([refused.status, refused.body]).toEqual([429, limited])
    // Sign-ins in unknown browsers do not stop a known device either.
    expect((await login(latchkey.browser(), 'bea')).status).toBe(200)
    expect((await login(latchkey.browser(), 'bea')).status).toBe(429)
    expect((await login(bea, 'bea')).status).toBe(200)
    const change = { currentPassword: goodPassword, newPassword }
    const changed = await bea.send('POST', '/api/auth/change-password', change, { csrf: true, address: office })
    expect(changed.status).toBe(204)
    // Unknown browsers have the count of the network, which no known device has used. Their mistakes do not stop a known device either.
    for (let mistake = 0; mistake < 5; mistake++)
      expect((await login(latchkey.browser(), 'bea', 'wrong')).status).toBe(401)
    expect((await login(latchkey.browser(), 'bea', newPassword)).status).toBe(429)
    expect((await login(browserWith(latchkey, ada, 'known_device'), 'bea', newPassword)).status).toBe(429)
    expect((await login(bea, 'bea', newPassword)).status).toBe(200)
    expect((await bea.post('/login', { username: 1 }, { address: office })).status).toBe(400)
  } finally {
    await latchkey.stop()
  }
})
