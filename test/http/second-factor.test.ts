import bcrypt from 'bcrypt'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { amrMethods, isSecondFactor } from '#contract/factors.js'
import { hours, minutes, seconds } from '../../src/lib/durations.js'
import { fingerprint } from '../../src/lib/random.js'
import { startApp } from '../../src/service/open-service.js'
import { addAuthenticator } from '../support/authenticator.js'
import { createBrowser } from '../support/client.js'
import { whileRefused } from '../support/databases.js'
import { goodPassword, type Latchkey, sharedParts, startLatchkey } from '../support/latchkey.js'

const path = '/api/auth/second-factor'

describe('an account with two-step sign-in', () => {
  let latchkey: Latchkey
  beforeAll(async () => {
    latchkey = await startLatchkey()
  })
  afterAll(() => latchkey.stop())

  const enrolled = async (name: string) => {
    const tab = await latchkey.signedUp(name)
    return { tab, app: await addAuthenticator(tab, latchkey) }
  }
  const login = (username: string, tab = latchkey.browser()) => tab.post('/login', { username, password: goodPassword })
  /** A browser whose password was right. */
  const challenged = async (username: string) => {
    const tab = latchkey.browser()
    const { status } = await login(username, tab)
    if (status !== 202) throw new Error(`Signing in as ${username} gave ${status}`)
    return tab
  }
  const sessionsOf = async (username: string) =>
    latchkey.sql.query('select methods from sessions where user_id = (select id from users where username = $1)', [
      username,
    ])

  it('gets a session after the password and a code, and not before', async () => {
    const { app } = await enrolled('ada')
    const tab = latchkey.browser()
    const asked = await login('ada', tab)
    expect([asked.status, asked.body]).toEqual([202, { next: 'second_factor', methods: ['totp', 'recovery_code'] }])
    expect(asked.setCookies.map((cookie) => cookie.replace(/=[\w-]+;/, '=…;'))).toEqual([
      'challenge=…; Max-Age=600; Path=/; HttpOnly; SameSite=Strict',
    ])
    expect((await tab.get('/api/auth/me')).status).toBe(401)
    const waiting = await tab.get(path)
    expect([waiting.status, waiting.body]).toMatchObject([
      200,
      { methods: ['totp', 'recovery_code'], trustDevice: true, trustedFor: 30 * 86_400 },
    ])

    const code = app.code()
    const signedIn = await tab.post(path, { code: `${code.slice(0, 3)} ${code.slice(3)}` })
    expect([signedIn.status, Object.keys(signedIn.body)]).toEqual([200, ['user', 'accessTokenExpiresAt']])
    expect((await tab.get('/api/auth/me')).status).toBe(200)
    expect((await tab.get('/api/auth/verify?factors=2')).status).toBe(204)
    // Used up: the challenge, and the code.
    expect((await tab.get(path)).status).toBe(401)
    expect((await (await challenged('ada')).post(path, { code })).status).toBe(401)
  })

  it('does not sign in with the code that confirmed the app', async () => {
    const tab = await latchkey.signedUp('confirming')
    const app = await addAuthenticator(tab, latchkey)
    expect((await (await challenged('confirming')).post(path, { code: app.confirmedBy })).status).toBe(401)
  })

  it('accepts a clock that is 29 seconds off, and none that is 61', async () => {
    const { app } = await enrolled('clocks')
    const tab = await challenged('clocks')
    const { body, status } = await tab.post(path, { code: app.code(-61 * seconds) })
    expect([status, body.error, body.code]).toEqual([401, 'Invalid code', 'wrong_second_factor'])
    expect(body.message).toContain('clock')
    expect((await tab.post(path, { code: app.code(61 * seconds) })).status).toBe(401)
    expect((await tab.post(path, { code: app.code(29 * seconds) })).status).toBe(200)
  })

  it('gives one session for one code, however many browsers send it to two instances at once', async () => {
    const { app } = await enrolled('parallel')
    const other = await startApp(
      { ...latchkey.config, port: 0 },
      { clock: latchkey.clock, log: latchkey.app.log, onFatal: () => undefined, ...(await sharedParts()) },
    )
    try {
      const tabs = await Promise.all(
        Array.from({ length: 10 }, async (_, at) => {
          const jar = (await challenged('parallel')).jar
          return createBrowser(at % 2 ? latchkey.url : other.config.publicUrl, jar)
        }),
      )
      const code = app.code()
      const headers = { origin: latchkey.url }
      const answers = await Promise.all(
        tabs.flatMap((tab) => Array.from({ length: 5 }, () => tab.post(path, { code }, { headers }))),
      )
      expect(answers.filter((answer) => answer.status === 200)).toHaveLength(1)
      expect(answers.every((answer) => answer.status < 500)).toBe(true)
    } finally {
      await other.close()
    }
  })

  it('takes a recovery code once in twenty tries at once, and tells the owner', async () => {
    const { app } = await enrolled('lost-phone')
    const [code = '', spare = ''] = app.recoveryCodes
    expect(code).toMatch(/^\w{4}-\w{4}-\w{4}$/)
    const tabs = await Promise.all(Array.from({ length: 4 }, () => challenged('lost-phone')))
    const answers = await Promise.all(
      tabs.flatMap((tab) =>
        Array.from({ length: 5 }, () => tab.post(path, { code: code.toLowerCase(), trustDevice: true })),
      ),
    )
    const good = answers.filter((answer) => answer.status === 200)
    expect(good).toHaveLength(1)
    expect(good[0]?.setCookies.join()).not.toContain('trusted_device')
    expect((await latchkey.mailTo('lost-phone@example.com', /recovery code/)).text).toContain('Codes left: 9')
    const misread = spare.replaceAll('0', 'o').replaceAll('1', 'l').replaceAll('-', ' ')
    expect((await (await challenged('lost-phone')).post(path, { code: misread })).status).toBe(200)
    expect((await sessionsOf('lost-phone')).map(({ methods }) => methods)).toContainEqual(['pwd', 'rec'])
    // The tries whose code was used a moment before count as wrong codes.
    await latchkey.mailTo('lost-phone@example.com', /know your password/)
  })

  it('waits after ten wrong codes, longer after more, and a recovery code still works', async () => {
    const { app } = await enrolled('guessed')
    const guess = async (count: number) => {
      const answers = []
      for (let tab = await challenged('guessed'), at = 0; at < count; at++) {
        if (at % 5 === 4) tab = await challenged('guessed')
        answers.push(await tab.post(path, { code: '000000' === app.code() ? '000001' : '000000' }))
      }
      return answers
    }
    expect((await guess(10)).map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 401))
    const tab = await challenged('guessed')
    const limited = await tab.post(path, { code: app.code() })
    expect([limited.status, limited.body]).toEqual([429, { error: 'Too many requests', message: 'Please slow down' }])
    expect(Number(limited.headers.get('retry-after'))).toBeGreaterThan(3_500)
    expect([...limited.headers.keys()].filter((name) => name.startsWith('ratelimit'))).toEqual([])
    expect((await latchkey.mailTo('guessed@example.com', /know your password/)).text).toContain('three wrong codes')
    expect((await tab.post(path, { code: app.recoveryCodes[0] })).status).toBe(200)
    // The password limiter has not counted any of this: a wrong password is still 401.
    expect((await latchkey.browser().post('/login', { username: 'guessed', password: 'wrong' })).status).toBe(401)

    await latchkey.advance(1 * hours + 1 * seconds)
    await guess(5)
    const longer = await (await challenged('guessed')).post(path, { code: app.code() })
    expect([longer.status, Number(longer.headers.get('retry-after')) > 7_000]).toEqual([429, true])
    await latchkey.advance(26 * hours)
    expect((await (await challenged('guessed')).post(path, { code: app.code() })).status).toBe(200)
  })

  it('ends a challenge after five wrong codes, after ten minutes, and when the password changes', async () => {
    const { tab: owner, app } = await enrolled('voided')
    const guessed = await challenged('voided')
    for (let at = 0; at < 5; at++) await guessed.post(path, { code: 'AAAA' })
    const over = await guessed.post(path, { code: app.code() })
    expect([over.status, over.body.code, over.setCookies]).toEqual([
      401,
      'challenge_over',
      ['challenge=; Max-Age=0; Path=/; HttpOnly; SameSite=Strict'],
    ])
    // A page of another site leads here without the cookie, which may still be good.
    expect((await latchkey.browser().get(path)).setCookies).toEqual([])
    const changed = await challenged('voided')
    const passwords = { currentPassword: goodPassword, newPassword: `${goodPassword}-2` }
    expect((await owner.act('/api/auth/change-password', passwords)).status).toBe(204)
    expect((await changed.post(path, { code: app.code() })).status).toBe(401)
    const late = latchkey.browser()
    await late.post('/login', { username: 'voided', password: `${goodPassword}-2` })
    await latchkey.advance(10 * minutes + 1 * seconds)
    expect((await late.post(path, { code: app.code() })).status).toBe(401)
  })

  it('asks for no code in a trusted browser, for that account only, until the password changes', async () => {
    const { app } = await enrolled('trusting')
    const neighbour = await enrolled('neighbour')
    const tab = await challenged('trusting')
    const trusted = await tab.post(path, { code: app.code(), trustDevice: true })
    expect(trusted.setCookies.some((cookie) => /^trusted_device=[\w-]{43}; Max-Age=2592000/.test(cookie))).toBe(true)
    const again = tab.copy()
    // Signed out before: otherwise the sign-in would end the session of this browser.
    again.jar.delete('refresh_token')
    expect((await login('trusting', again)).status).toBe(200)
    for (const condition of ['factors=2', 'fresh=10m'])
      expect((await again.get(`/api/auth/verify?${condition}`)).status).toBe(403)
    // The device stands for the code at the sign-in. A thief with the browser and the password gets no further.
    for (const answer of [await again.act('/api/auth/recovery-codes'), await again.remove('/api/auth/totp')])
      expect([answer.status, answer.body.methods]).toEqual([403, ['totp', 'recovery_code']])
    expect((await login('neighbour', tab.copy())).status).toBe(202)
    const { body } = await tab.get('/api/auth/factors')
    const [device] = body.trustedDevices as { id: string }[]
    expect([body.password, body.recoveryCodes, body.trustedDevices]).toMatchObject([
      true,
      { left: 10 },
      [{ ip: '127.0.0.1' }],
    ])
    expect((await tab.remove(`/api/auth/trusted-devices/${device?.id}`)).status).toBe(204)
    expect((await login('trusting', tab.copy())).status).toBe(202)

    await latchkey.advance(30 * seconds)
    const second = tab.copy()
    await login('trusting', second)
    const renewed = await second.post(path, { code: app.code(), trustDevice: true })
    // The value that is no longer good makes room for the new one.
    expect(renewed.setCookies.join()).toMatch(/trusted_device=[\w-]{43};/)
    await latchkey.advance(30 * seconds)
    await login('neighbour', second)
    const both = await second.post(path, { code: neighbour.app.code(), trustDevice: true })
    expect(both.setCookies.join()).toMatch(/trusted_device=[\w-]{43}\.[\w-]{43};/)
    expect((await login('neighbour', second.copy())).status).toBe(200)
    // A stronger hash of the same password is no change of the password.
    await latchkey.sql.query("update users set password_hash = $1 where username = 'trusting'", [
      await bcrypt.hash(goodPassword, 5),
    ])
    expect((await login('trusting', second.copy())).status).toBe(200)
    await latchkey.browser().post('/api/auth/reset-password', { email: 'trusting@example.com' })
    const { text } = await latchkey.mailTo('trusting@example.com', /reset-password#/)
    const token = /#token=([\w-]+)/.exec(text)?.[1]
    // A reset signs in as a password does: with the second step, also in a browser that was trusted before it.
    const password = `${goodPassword}-3`
    const reset = await second.post('/api/auth/reset-password/confirm', { token, password, signIn: true })
    expect([reset.status, reset.body.next]).toEqual([202, 'second_factor'])
    expect(reset.setCookies.map((cookie) => cookie.split('=')[0]).sort()).toEqual(['challenge', 'known_device'])
    expect((await second.get('/api/auth/me')).status).toBe(401)
    await latchkey.advance(30 * seconds)
    expect((await second.post(path, { code: app.code() })).status).toBe(200)
    const after = await tab.copy().post('/login', { username: 'trusting', password })
    expect(after.status).toBe(202)
  })

  it('cannot be signed in by a program that inserts a session without a second proof', async () => {
    await enrolled('rolling')
    const insert = (method: string, device: string | null = null) =>
      latchkey.sql.query(
        `insert into sessions
           (id, user_id, token_hash, generation, issued_at, rotated_at, expires_at, ip, user_agent, created_at,
            last_used_at, trusted_device, second_factor_required, methods, authenticated_at, signed_in_as)
         select gen_random_uuid(), id, '\\x00', 0, now(), now(), now() + interval '1 day', '', '', now(), now(), $1,
           false, array[$2], now(), username
         from users where username = 'rolling' returning id`,
        [device, method],
      )
    for (const method of Object.keys(amrMethods))
      expect([method, (await insert(method)).length]).toEqual([method, isSecondFactor(method) ? 1 : 0])
    // It names a device that is no longer trusted, as a sign-in does that a reset has overtaken.
    expect(await insert('pwd', '019a8f0e-7d5e-7c43-9a51-3f4d8c8f3a10')).toEqual([])
  })

  it('leaves nothing in the database that works', async () => {
    const { app } = await enrolled('dumped')
    const tab = await challenged('dumped')
    await tab.post(path, { code: app.code(), trustDevice: true })
    const tables = [
      'totp_secrets',
      'pending_totp_secrets',
      'recovery_codes',
      'sign_in_challenges',
      'trusted_devices',
      'events',
    ]
    const dump = JSON.stringify(
      await Promise.all(tables.map((table) => latchkey.sql.query(`select row_to_json(t)::text from ${table} as t`))),
    )
    const secrets = [
      app.secret,
      ...app.recoveryCodes,
      tab.jar.get('trusted_device') ?? '',
      tab.jar.get('access_token') ?? '',
    ]
    // A plain hash of a short code could be tried out.
    const plain = app.recoveryCodes.map((code) => fingerprint(code.replaceAll('-', '')).toString('hex'))
    for (const secret of [...secrets, ...plain]) {
      expect(secret.length).toBeGreaterThan(13)
      expect(dump).not.toContain(secret)
      expect(dump).not.toContain(secret.replaceAll('-', ''))
    }
  })

  it('is signed in although the database gives up on what follows, and loses no try if it gives up before', async () => {
    const { app } = await enrolled('unlucky')
    const failures = async () =>
      latchkey.sql.query(
        `select failures from wrong_codes where user_id = (select id from users where username = $1)`,
        ['unlucky'],
      )
    const tab = await challenged('unlucky')
    const code = app.code()
    await whileRefused(latchkey.sql, 'insert on sessions', async () =>
      expect((await tab.post(path, { code })).status).toBe(503),
    )
    expect(await failures()).toEqual([{ failures: 0 }])
    const givenBack = 'update on wrong_codes for each row when (new.failures < old.failures)'
    await whileRefused(latchkey.sql, givenBack, async () => expect((await tab.post(path, { code })).status).toBe(200))
    expect((await tab.get('/api/auth/me')).status).toBe(200)
  })

  it('answers bad input with 400 or 401', async () => {
    await enrolled('fuzzed')
    const tab = await challenged('fuzzed')
    const bodies = [
      {},
      { code: 1 },
      { code: '' },
      { code: 'x'.repeat(65) },
      { code: '000000', trustDevice: 'yes' },
      [],
      'x',
    ]
    for (const body of bodies) expect([400, 401]).toContain((await tab.post(path, body)).status)
    expect((await latchkey.browser().post(path, { code: '123456' })).status).toBe(401)
  })
})
