import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Browser } from '../support/client.js'
import { goodPassword, type Latchkey } from '../support/latchkey.js'
import { json } from '../support/providers/replies.js'
import {
  comeBack,
  goToProvider,
  startProviders,
  startService,
  type TestProviders,
} from '../support/providers/test-providers.js'

const secret = 'c7b1d0e94f3a4c8f9a6e2b5d8c1f7a3e0b9d6c4f2a8e5b1d7c3f9a0e6b4d2c8f1a5e'
const wrongPassword = 'Wrong-Lighthouse-48-umbrella'
const newPassword = 'Copper-Meadow-27-telescope'
const resetPassword = 'Marble-Orchard-63-compass'
const typedIntoTheWrongField = 'Granite-Whisper-85-saddle'

/** What would colour a terminal, clear it, or begin a line of its own. */
const hostile = '\u001b[31mred\u001b[2J\r\n{"level":"info","msg":"forged"}'
/** Node's parser takes no control character in a header but the tab. */
const agent = 'Mozilla/5.0\t"quoted" \u009b31m'

/** Everything that must never be in a log: what was typed, and every token, code and cookie that went back or forth. */
const secrets = new Map<string, string>()
const keep = (what: string, value: string | undefined) => {
  if (value && value.length >= 8) secrets.set(value, what)
}
const keepCookies = (browser: Browser) => {
  for (const [name, value] of browser.jar) keep(`the cookie ${name}`, value)
}

const tokenIn = (text: string) => /#token=([\w-]+)/.exec(text)?.[1] ?? ''

let providers: TestProviders
let service: Latchkey

const register = async (username: string) => {
  const browser = service.browser()
  await browser.post('/api/auth/register', { username, email: `${username}@example.com`, password: goodPassword })
  keepCookies(browser)
  const { text } = await service.mailTo(`${username}@example.com`)
  keep('the token of the verification mail', tokenIn(text))
  keep('the code of the verification mail', /^ *([A-Z0-9]{4}-[A-Z0-9]{4}) *$/m.exec(text)?.[1])
  expect((await browser.post('/api/auth/verify-email', { token: tokenIn(text) })).status).toBe(200)
  keepCookies(browser)
  return browser
}

const signInAndOut = async () => {
  const tab = service.browser()
  const headers = { 'user-agent': agent }
  await tab.post('/login', { username: 'ada', password: wrongPassword }, { headers })
  await tab.post('/login', { username: typedIntoTheWrongField, password: 'x' }, { headers })
  await tab.post('/login', `{"username":"ada","password":"${wrongPassword}"`)
  await tab.post('/login', { username: ['ada'], password: wrongPassword })
  await tab.get(`/login?password=${wrongPassword}&token=${secret}`)
  expect((await tab.post('/login', { username: 'ada', password: goodPassword }, { headers })).status).toBe(200)
  keepCookies(tab)
  await tab.post('/api/auth/refresh')
  keepCookies(tab)
  await tab.get('/api/auth/me')
  keep('a CSRF token', await tab.csrfToken())
  keepCookies(tab)
  const thief = tab.copy()
  await tab.act('/api/auth/logout')
  await thief.post('/api/auth/refresh')
}

const robAndBeCaught = async () => {
  const tab = service.browser()
  await tab.post('/api/auth/login', { username: 'ada@example.com', password: goodPassword })
  const thief = tab.copy()
  for (const _ of [1, 2]) {
    keepCookies(tab)
    await tab.post('/api/auth/refresh')
  }
  keepCookies(tab)
  await thief.post('/api/auth/refresh')
}

const changeAndReset = async (ada: Browser) => {
  const change = (currentPassword: string) => ada.act('/api/auth/change-password', { currentPassword, newPassword })
  await change(wrongPassword)
  expect((await change(goodPassword)).status).toBeLessThan(300)
  keepCookies(ada)
  await service.browser().post('/reset-password', { email: 'ada@example.com' })
  const { text } = await service.mailTo('ada@example.com', /reset-password#token=/)
  keep('the token of the reset mail', tokenIn(text))
  const confirm = { token: tokenIn(text), password: resetPassword }
  expect((await service.browser().post('/api/auth/reset-password/confirm', confirm)).status).toBeLessThan(300)
  await service.browser().post('/api/auth/reset-password/confirm', confirm)
}

const signInWithProviders = async () => {
  for (const side of ['provider-a', 'provider-b'] as const) {
    const browser = service.browser()
    const callback = await goToProvider(browser, side)
    keepCookies(browser)
    const { searchParams } = new URL(callback, service.url)
    for (const name of ['code', 'state']) keep(`the ${name} of ${side}`, searchParams.get(name) ?? undefined)
    await comeBack(browser, callback)
    keepCookies(browser)
    await comeBack(browser, callback)
  }
  // A provider that answers nonsense, or quotes its request, is where libraries like to attach the whole of it.
  providers.issuer.behave({
    instead: { token: json({ error: 'invalid_grant', error_description: 'stolen-code-value' }) },
  })
  const browser = service.browser()
  await comeBack(browser, await goToProvider(browser, 'provider-a'))
  await browser.get('/api/auth/provider-b/callback?code=stolen-code-value&state=made-up-state')
  keep('a made-up code', 'stolen-code-value')
}

beforeAll(async () => {
  providers = await startProviders()
  service = await startService(providers, { JWT_SECRET: secret, LOG_LEVEL: 'trace' })
  const ada = await register('ada')
  const eve = { username: hostile, email: `eve${hostile}@example.com`, password: goodPassword, name: hostile }
  await service.browser().post('/api/auth/register', eve)
  await service.browser().post('/api/auth/register', { ...eve, username: 'eve', email: 'eve@example.com' })
  await service.browser().post('/login', { username: hostile, password: wrongPassword })
  await signInAndOut()
  await robAndBeCaught()
  await changeAndReset(ada)
  await signInWithProviders()
  await ada.get(`/${encodeURIComponent(hostile)}`, { headers: { 'user-agent': agent } })
  // A statement that fails is where a database driver likes to quote its parameters.
  await service.sql.query('select $1::text::int', [newPassword]).catch((err: unknown) => service.app.log.error({ err }))
  service.app.log.info({ text: hostile }, hostile)
})
afterAll(async () => {
  await service.stop()
  await providers.close()
})

const spellings = (value: string) => {
  const bytes = Buffer.from(value)
  return [
    value,
    encodeURIComponent(value),
    bytes.toString('hex'),
    ...[0, 1, 2].flatMap((shift) => {
      // Inside a longer text base64 looks different at each of three offsets; the middle of it is what stays.
      const text = Buffer.concat([Buffer.alloc(shift), bytes]).toString('base64url')
      const core = text.slice(shift === 0 ? 0 : 4, -4)
      return [core, core.replaceAll('-', '+').replaceAll('_', '/')]
    }),
  ].filter((spelling) => spelling.length >= 8)
}

describe('after a long day at the lowest level, the log', () => {
  it('was written to, and about all of it', () => {
    const text = service.logLines.join('')
    for (const kind of [
      'signed_in',
      'sign_in_failed',
      'refresh_theft',
      'signed_out',
      'password_changed',
      'password_reset',
    ])
      expect(text).toContain(`"kind":"${kind}"`)
    expect(secrets.size).toBeGreaterThan(20)
  })

  it('holds no password, token, code, cookie or secret, in no spelling', () => {
    for (const [value, what] of [
      [goodPassword, 'a password'],
      [wrongPassword, 'a wrong password'],
      [newPassword, 'a new password'],
      [resetPassword, 'a password that was reset to'],
      [typedIntoTheWrongField, 'a password typed into the field of the name'],
      [secret, 'the signing secret'],
      [providers.settings.PROVIDER_A_CLIENT_SECRET, "provider A's client secret"],
      [providers.settings.PROVIDER_B_CLIENT_SECRET, "provider B's client secret"],
    ] as const)
      keep(what, value)
    const text = service.logLines.join('')
    const found = [...secrets].filter(([value]) => spellings(value).some((spelling) => text.includes(spelling)))
    expect(found.map(([, what]) => what)).toEqual([])
  })

  it('is one JSON object a line, with nothing in it that a terminal would obey', () => {
    const lines = service.logLines.join('').split('\n').filter(Boolean)
    for (const line of lines) {
      expect(() => JSON.parse(line)).not.toThrow()
      expect(line).not.toMatch(/[\u0000-\u001f\u007f-\u009f]/)
    }
    const messages = lines.map((line) => JSON.parse(line).msg)
    expect(messages).toContain(hostile)
    expect(messages).not.toContain('forged')
  })
})
