import { afterEach, describe, expect, it } from 'vitest'
import { languages } from '#contract/languages.js'
import { hours, minutes, seconds } from '../../src/lib/durations.js'
import { startApp } from '../../src/service/open-service.js'
import { addAuthenticator } from '../support/authenticator.js'
import { type Browser, createBrowser } from '../support/client.js'
import { goodPassword, type Latchkey, sharedParts, startLatchkey } from '../support/latchkey.js'

const path = '/api/auth/setup'
const adminSelf = '/api/auth/admin/api/self'
const ada = { username: 'ada', email: 'ada@example.com', password: goodPassword }

const running: { stop(): Promise<void> }[] = []
afterEach(async () => {
  for (const each of running.splice(0)) await each.stop()
})

const started = async (settings: Record<string, string> = {}) => {
  const latchkey = await startLatchkey({ settings })
  running.push(latchkey)
  return latchkey
}

const tokenIn = (link = '') => /#token=([\w-]{43})$/.exec(link)?.[1] ?? ''
const newToken = async ({ app }: Pick<Latchkey, 'app'>) => tokenIn(await app.rooms.setup.makeLink())
const codeOf = ({ status, body }: { status: number; body: { code?: unknown } }) => `${status} ${body.code ?? ''}`.trim()
const claimsOf = ({ jar }: Browser) =>
  JSON.parse(Buffer.from((jar.get('access_token') ?? '').split('.')[1] ?? '', 'base64url').toString())

/** A second instance on the same stores. */
const withSecondInstance = async ({ config, clock, app: { log } }: Latchkey) => {
  const app = await startApp({ ...config, port: 0 }, { clock, log, onFatal: () => undefined, ...(await sharedParts()) })
  running.unshift({ stop: app.close })
  return { app, browser: () => createBrowser(`http://localhost:${app.config.port}`) }
}
const asFrom = ({ url }: Latchkey) => ({ headers: { origin: url } })

describe('the setup', () => {
  it('makes the first account, signs it in, and puts it into the group of administrators', async () => {
    const latchkey = await started()
    const tab = latchkey.browser()
    const made = await tab.post(path, { token: await newToken(latchkey), name: 'Ada', ...ada })
    expect(codeOf(made)).toBe('201')
    expect(made.body).toMatchObject({ user: { username: 'ada', email: 'ada@example.com', name: 'Ada' } })
    expect((await tab.get('/api/auth/account')).body).toMatchObject({ user: { emailProven: false } })
    expect(claimsOf(tab).groups).toEqual(['administrators'])
    expect((await tab.get(adminSelf)).body).toMatchObject({ code: 'fresh_sign_in_required', methods: [] })
    const app = await addAuthenticator(tab, latchkey)
    await tab.act('/api/auth/step-up', { code: app.code() })
    expect((await tab.get(adminSelf)).body).toMatchObject({ role: 'admin', adminGroup: 'administrators' })
    const { events } = (await tab.get('/api/auth/events')).body as { events: { kind: string }[] }
    expect(events.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['registered', 'group_joined', 'totp_added']))
  })

  it('mails its administrator what happens to the account, without a link that opens it while the address is not proven', async () => {
    const latchkey = await started()
    const tab = latchkey.browser()
    await tab.post(path, { token: await newToken(latchkey), ...ada })
    const app = await addAuthenticator(tab, latchkey)
    await tab.act('/api/auth/step-up', { code: app.code() })
    await tab.get(adminSelf)
    await tab.act('/api/auth/recovery-codes')
    await tab.act('/api/auth/email', { email: 'thief@example.net' })
    await latchkey.browser().post('/login', { username: 'ada', password: goodPassword })
    for (const subject of [
      /^Two-step sign-in .* (on|added)/m,
      /^Your account was used as an administrator/m,
      /recovery codes/,
      /is about to change/,
    ]) {
      const { text } = await latchkey.mailTo(ada.email, subject)
      expect(text, String(subject)).toContain('This address was never confirmed')
      expect(text, String(subject)).not.toMatch(/#token=|forgot-password|#undo/)
    }
    expect(latchkey.mails().filter(({ to, text }) => to === ada.email && /\/undo|token=/.test(text))).toEqual([])
    await latchkey.sql.query("update users set email_proven = true, email_claimed = false where username = 'ada'")
    await tab.act('/api/auth/recovery-codes')
    await latchkey.mailTo(ada.email, /recovery codes[\s\S]*forgot-password/)
  })

  it('takes a token for an hour only, and counts wrong ones only: ten an hour from a network, and a right one works', async () => {
    const latchkey = await started()
    const early = await newToken(latchkey)
    await newToken(latchkey)
    latchkey.clock.advance(1 * hours - 1 * minutes)
    const wrong = () => latchkey.browser().post(path, { ...ada, token: 'x'.repeat(43) }, { address: '192.0.2.7' })
    const answers = await Promise.all(Array.from({ length: 12 }, wrong))
    expect(answers.map(codeOf).sort()).toEqual([
      ...Array.from({ length: 10 }, () => '403 invalid_setup_token'),
      ...['429', '429'],
    ])
    const invalid = { ...ada, token: early, password: 'short' }
    const refused = await latchkey.browser().post(path, invalid, { address: '192.0.2.7' })
    expect([refused.status, refused.body]).toMatchObject([422, { valid: false, errors: expect.any(Array) }])
    latchkey.clock.advance(2 * minutes)
    expect(codeOf(await latchkey.browser().post(path, { ...ada, token: early }))).toBe('403 invalid_setup_token')
    const newest = await newToken(latchkey)
    expect(codeOf(await latchkey.browser().post(path, { ...ada, token: newest }, { address: '192.0.2.7' }))).toBe('201')
  })

  it('has the rules of a registration', async () => {
    const latchkey = await started()
    const token = await newToken(latchkey)
    const refusalOf = async (change: object) =>
      codeOf(await latchkey.browser().post(path, { token, ...ada, ...change }))
    expect(await refusalOf({ email: 'nobody' })).toBe('400 email_shape')
    expect(await refusalOf({ username: 'a@b' })).toBe('400 username_at_sign')
    expect(await refusalOf({ username: 'root' })).toBe('409 username_taken')
    expect(await refusalOf({ username: undefined })).toBe('400 bad_request')
    expect(await refusalOf({ password: 'ada-ada-ada-1A' })).toBe('422 password_rejected')
    expect(await refusalOf({ token: undefined })).toBe('400 bad_request')
    expect(await latchkey.sql.query('select 1 from users')).toEqual([])
    expect(await refusalOf({})).toBe('201')
  })

  it('makes the username from the address with USERNAMES=from_email', async () => {
    const latchkey = await started({ USERNAMES: 'from_email' })
    const { username: _, ...account } = ada
    const made = await latchkey.browser().post(path, { token: await newToken(latchkey), ...account })
    expect(made.body).toMatchObject({ user: { username: 'ada' } })
  })

  it('is won by one of two at once over two instances, whose other links end', async () => {
    const latchkey = await started()
    const other = await withSecondInstance(latchkey)
    const tokens = [await newToken(latchkey), await newToken(other), await newToken(latchkey)]
    const tabs = [latchkey.browser(), other.browser(), latchkey.browser(), other.browser()]
    const answers = await Promise.all(
      tabs.map((tab, at) => {
        const account = { username: `ada${at}`, email: `ada${at}@example.com`, password: goodPassword }
        return tab.post(path, { token: tokens[at % 2], ...account }, asFrom(latchkey))
      }),
    )
    expect(answers.map(codeOf).sort()).toEqual(['201', ...Array.from({ length: 3 }, () => '410 already_set_up')])
    expect(await latchkey.sql.query('select 1 from users')).toHaveLength(1)
    // Also after that user is gone. For some seconds the answer comes from memory: no limiter counts these requests.
    await latchkey.sql.query('delete from users')
    const ask = async () => codeOf(await latchkey.browser().post(path, { token: tokens[2], ...ada }))
    expect(await ask()).toBe('410 already_set_up')
    latchkey.clock.advance(11 * seconds)
    expect(await ask()).toBe('403 invalid_setup_token')
    expect(await other.app.rooms.setup.makeLink()).toMatch(/#token=/)
  })

  it('lets every instance know the group at once', async () => {
    const latchkey = await started()
    const other = await withSecondInstance(latchkey)
    const early = other.browser()
    expect(codeOf(await early.get(adminSelf))).toBe('404 not_found')
    const tab = latchkey.browser()
    await tab.post(path, { token: await newToken(latchkey), ...ada })
    const there = createBrowser(`http://localhost:${other.app.config.port}`, tab.jar)
    expect(codeOf(await there.get(adminSelf))).toBe('403 fresh_sign_in_required')
    expect((await other.app.rooms.administrators.roles()).admin).toBe('administrators')
  })

  it('is over with a user who came in another way, and the log says once which command makes the first administrator', async () => {
    const latchkey = await started()
    const token = await newToken(latchkey)
    await latchkey.registered('bea')
    for (let round = 0; round < 2; round += 1) {
      const answer = await latchkey.browser().post(path, { token, ...ada })
      expect(codeOf(answer)).toBe('410 already_set_up')
      expect(String(answer.body.message)).toContain('latchkey user groups USER --add GROUP')
    }
    const advice = latchkey.logLines.filter((line) => line.includes('latchkey user groups USER --add admins'))
    expect(advice).toHaveLength(1)
    expect(await latchkey.app.rooms.setup.makeLink()).toBeUndefined()
  })

  it('waits for a user who is being created, and is then too late', async () => {
    const latchkey = await started()
    const token = await newToken(latchkey)
    let attempt: Promise<{ status: number; body: { code?: unknown } }> | undefined
    await latchkey.sql.transaction(async (sql) => {
      await sql.query(
        `insert into users (id, email, email_key, username, username_key, created_at)
         values (gen_random_uuid(), 'bea@example.com', 'bea@example.com', 'ada', 'ada', now())`,
      )
      attempt = latchkey.browser().post(path, { token, ...ada })
      await new Promise((resolve) => setTimeout(resolve, 1_000))
    })
    expect(codeOf(await (attempt ?? Promise.reject(new Error('Nothing was asked'))))).toBe('410 already_set_up')
  })

  it('takes requests of our own pages only, as JSON', async () => {
    const latchkey = await started()
    const body = { token: await newToken(latchkey), ...ada }
    const foreign = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
    expect(codeOf(await latchkey.browser().post(path, body, { headers: foreign }))).toBe('403 cross_site')
    const form = { 'content-type': 'text/plain' }
    expect(codeOf(await latchkey.browser().post(path, body, { headers: form }))).toBe('415 unsupported_media_type')
    expect(codeOf(await latchkey.browser().post(path, body))).toBe('201')
  })

  it('leads to a second factor at once with SECOND_FACTOR=required', async () => {
    const latchkey = await started({ SECOND_FACTOR: 'required' })
    const tab = latchkey.browser()
    const made = await tab.post(path, { token: await newToken(latchkey), ...ada })
    expect([made.status, made.body]).toMatchObject([202, { next: 'enrolment', methods: ['totp', 'passkey'] }])
    expect(tab.jar.get('access_token')).toBeUndefined()
    // The address is only claimed, so no code is mailed to it.
    expect((await tab.get('/api/auth/second-factor')).body).toMatchObject({ mailedCodeRequired: false })
    await addAuthenticator(tab, latchkey)
    expect((await tab.get(adminSelf)).body).toMatchObject({ username: 'ada', role: 'admin' })
  })
})

describe('the group of the setup', () => {
  it('is the one that ADMIN_GROUP names, which is made if it is missing', async () => {
    for (const exists of [false, true]) {
      const latchkey = await started({ ADMIN_GROUP: 'chiefs' })
      if (exists) await latchkey.app.rooms.groups.add('chiefs', { ip: '', userAgent: '' })
      const tab = latchkey.browser()
      expect(codeOf(await tab.post(path, { token: await newToken(latchkey), ...ada }))).toBe('201')
      expect(claimsOf(tab).groups).toEqual(['chiefs'])
      expect(await latchkey.sql.query('select 1 from administrators_group')).toEqual([])
    }
  })

  it('is none with an empty ADMIN_GROUP, and then nothing of administrators is there', async () => {
    const latchkey = await started({ ADMIN_GROUP: '' })
    const tab = latchkey.browser()
    expect(codeOf(await tab.post(path, { token: await newToken(latchkey), ...ada }))).toBe('201')
    expect(claimsOf(tab).groups ?? []).toEqual([])
    expect(codeOf(await tab.get(adminSelf))).toBe('404 not_found')
    expect((await tab.get('/api/auth/admin')).status).toBe(404)
  })

  it('is not one that an operator has made for something else, whatever its name', async () => {
    const latchkey = await started()
    await latchkey.app.rooms.groups.add('administrators', { ip: '', userAgent: '' })
    const answer = await latchkey.browser().post(path, { token: await newToken(latchkey), ...ada })
    expect(codeOf(answer)).toBe('409 admin_group_needed')
    expect(await latchkey.sql.query('select 1 from users')).toEqual([])
  })

  it('is not that of SUPPORT_GROUP', async () => {
    const latchkey = await started({ SUPPORT_GROUP: 'administrators' })
    const answer = await latchkey.browser().post(path, { token: await newToken(latchkey), ...ada })
    expect(codeOf(answer)).toBe('409 admin_group_needed')
  })

  it('cannot be deleted, promised by an invitation, or given by a service key', async () => {
    const latchkey = await started()
    await latchkey.browser().post(path, { token: await newToken(latchkey), ...ada })
    const { groupChanges, invitations } = latchkey.app.rooms
    const client = { ip: '', userAgent: '' }
    const program = { ...client, actor: { serviceKey: 'shop', protectedGroups: 'all' } } as const
    expect(await groupChanges.deleteGroup(client, 'administrators', { alsoWithMembers: true })).toMatchObject({
      refused: 'group_in_use',
    })
    const email = { email: 'bea@example.com', key: 'bea@example.com' }
    expect(await invitations.invite(email, client, { groups: ['administrators'] })).toMatchObject({
      refused: 'group_of_administrators',
    })
    const user = await latchkey.app.rooms.users.findNamed('ada')
    const disabling = latchkey.app.rooms.operatorChanges.disable({ userId: user?.id ?? '', client: program })
    await expect(disabling).rejects.toMatchObject({ refused: 'administrators_account' })
  })

  it('stays while another one is named, and is not that of administrators then', async () => {
    const latchkey = await started()
    const tab = latchkey.browser()
    await tab.post(path, { token: await newToken(latchkey), ...ada })
    const options = { clock: latchkey.clock, log: latchkey.app.log, onFatal: () => undefined }
    const config = { ...latchkey.config, port: 0, adminGroup: 'chiefs' }
    const named = await startApp(config, { ...options, ...(await sharedParts()) })
    running.unshift({ stop: named.close })
    const there = createBrowser(`http://localhost:${named.config.port}`, tab.jar)
    expect(codeOf(await there.get(adminSelf))).toBe('404 not_found')
    await latchkey.sql.query(`update users set groups = '{}'`)
    expect(await named.rooms.groups.remove('administrators', { ip: '', userAgent: '' })).toMatchObject({
      refused: 'group_in_use',
    })
  })
})

describe('the page of the setup', () => {
  const page = (latchkey: Latchkey, headers: Record<string, string> = {}) =>
    latchkey.app.server.inject({
      method: 'GET',
      url: path,
      headers: { host: new URL(latchkey.url).host, 'sec-fetch-site': 'none', ...headers },
      remoteAddress: '172.18.0.2',
    })
  const textOf = (html: string) =>
    html
      .replaceAll(/<(script|style|head)\b[\s\S]*?<\/\1>/g, '')
      .replaceAll(/<[^>]+>/g, ' ')
      .replaceAll(/\s+/g, ' ')

  it('is the same for everybody, before and after the setup', async () => {
    const latchkey = await started()
    const before = await page(latchkey)
    await latchkey.browser().post(path, { token: await newToken(latchkey), ...ada })
    const after = await page(latchkey)
    expect([before.statusCode, after.statusCode]).toEqual([200, 200])
    expect(after.body).toBe(before.body)
    expect(after.headers).toMatchObject({ 'cache-control': 'no-store' })
    expect(before.body).not.toContain('TRUST_PROXY=')
  })

  it('says in every language, without script, style and cookies, that it was opened at another address', async () => {
    const latchkey = await started({ PUBLIC_URL: 'http://auth.localhost' })
    const seen = new Set<string>()
    for (const language of languages) {
      const answer = await page(latchkey, { host: 'other.localhost:8080', 'accept-language': language })
      const text = textOf(answer.body)
      expect([answer.statusCode, text]).toEqual([200, expect.stringContaining('other.localhost:8080')])
      expect(text).toContain('http://auth.localhost')
      expect(answer.body).not.toMatch(/<script|<form class="form"/)
      expect(answer.body).toContain(`<html lang="${language}">`)
      seen.add(text)
    }
    expect(seen.size).toBe(languages.length)
  })

  it('judges host and scheme as the proxy passes them on', async () => {
    const latchkey = await started({ PUBLIC_URL: 'https://auth.localhost:8443', DEVELOPMENT_ON_NETWORK: 'true' })
    const remarks = async (headers: Record<string, string>) => {
      const text = textOf((await page(latchkey, { host: 'auth.localhost:8443', ...headers })).body)
      return ['Host header', 'X-Forwarded-Proto', 'TRUST_PROXY='].map((part) => text.includes(part))
    }
    const forwarded = { 'x-forwarded-for': '203.0.113.9' }
    expect(await remarks({})).toEqual([false, false, false])
    expect(await remarks({ host: 'auth.localhost' })).toEqual([false, false, false])
    expect(await remarks({ host: 'auth.localhost:3000' })).toEqual([true, false, false])
    expect(await remarks({ host: '127.0.0.1:3000', 'x-forwarded-host': 'auth.localhost' })).toEqual([
      false,
      false,
      false,
    ])
    expect(await remarks({ 'x-forwarded-proto': 'http' })).toEqual([false, true, false])
    expect(await remarks({ 'x-forwarded-proto': 'https,http' })).toEqual([false, false, false])
    expect(await remarks({ ...forwarded, 'x-forwarded-proto': 'https' })).toEqual([false, false, true])
    expect(await remarks({ ...forwarded, host: 'evil.localhost' })).toEqual([true, false, true])
    const plain = await latchkey.app.server.inject({ method: 'GET', url: path, headers: { host: 'auth.localhost' } })
    expect(textOf(plain.body)).toContain('http://')
    const escaped = await page(latchkey, { 'x-forwarded-proto': '<script>alert(1)</script>' })
    expect(escaped.body).not.toContain('<script>alert')
  })

  it('names the address for TRUST_PROXY, in every language, above the form that works all the same', async () => {
    const latchkey = await started({ TRUST_PROXY: '' })
    const headers = { 'x-forwarded-for': '203.0.113.9' }
    const texts = await Promise.all(
      languages.map(async (language) => {
        const { body } = await page(latchkey, { ...headers, 'accept-language': language })
        expect(body).toContain('<script type="module"')
        return textOf(body.slice(0, body.indexOf('<noscript><main>')))
      }),
    )
    for (const text of texts) expect(text).toContain('TRUST_PROXY=172.18.0.2')
    expect(new Set(texts).size).toBe(languages.length)
    const trusting = await started({ TRUST_PROXY: '172.18.0.0/16' })
    expect((await page(trusting, headers)).body).not.toContain('TRUST_PROXY=')
  })
})
