import type { FastifyRequest } from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createCookies } from '../../src/http/cookies.js'
import { minutes } from '../../src/lib/durations.js'
import { startApp } from '../../src/service/open-service.js'
import { addAuthenticator } from '../support/authenticator.js'
import { type Browser, createBrowser } from '../support/client.js'
import { createEmailChanges } from '../support/email-changes.js'
import { goodPassword, type Latchkey, sharedParts, startLatchkey } from '../support/latchkey.js'
import { createMailLogins, mailLogin, otherNetwork } from '../support/mail-login.js'

let latchkey: Latchkey
let logins: ReturnType<typeof createMailLogins>
beforeAll(async () => {
  latchkey = await startLatchkey({ settings: { MAIL_SIGN_IN: 'on', LOGIN_LIMIT: '5/15m' } })
  logins = createMailLogins(latchkey)
})
afterAll(() => latchkey.stop())

const addressOf = (name: string) => `${name}@example.com`
const codeOf = ({ body }: { body: Record<string, unknown> }) => body.code
const wrong = (code: string) => `${code.startsWith('A') ? 'B' : 'A'}${code.slice(1)}`
const idOf = async (name: string) => {
  const [row] = await latchkey.sql.query<{ id: string }>('select id from users where username = $1', [name])
  return row?.id ?? ''
}
const sessionsOf = (name: string) =>
  latchkey.sql.query<{ methods: string[]; authenticated_at: Date; proof_moment: Date }>(
    `select methods, authenticated_at, proof_moment from sessions as r join users as u on u.id = r.user_id
     where u.username = $1 order by r.created_at, r.id`,
    [name],
  )
const openOf = async (name: string) =>
  (await latchkey.sql.query('select 1 from mail_sign_ins where user_id = $1', [await idOf(name)])).length

describe('a sign-in by mail', () => {
  it('takes the code in any spelling, once, and the session is signed in and not fresh', async () => {
    await latchkey.signedUp('ada')
    const { tab, mail, code, token } = await logins.mailed(addressOf('ada'))
    expect(mail.subject).toMatch(/^Your code to sign in to Latchkey: [\w-]{8,}$/)
    expect(mail.text).toMatch(/Unknown device|node/i)
    expect(mail.text).toMatch(/Time: .* UTC/)
    expect(mail.text).toContain('No one will ever ask you for this code')
    expect(mail.text).toContain(`${latchkey.url}/login#mail=${token}`)

    const typed = code.toLowerCase().replace('-', ' ')
    const signedIn = await logins.confirm(tab, { code: typed })
    expect([signedIn.status, signedIn.body]).toEqual([
      200,
      { user: expect.objectContaining({ username: 'ada' }), accessTokenExpiresAt: expect.any(String) },
    ])
    expect(signedIn.setCookies.some((line) => /^attempt_mail=;.*Max-Age=0/.test(line))).toBe(true)
    expect([await logins.confirm(tab, { code }), await logins.confirm(tab, { token })].map(codeOf)).toEqual([
      'mailed_code_void',
      'invalid_link',
    ])

    // Applications are told that the proof was made now, but the session itself is never fresh.
    const session = (await sessionsOf('ada')).at(-1)
    expect(session?.methods).toEqual(['mail'])
    expect(session?.authenticated_at.getTime()).toBe(0)
    expect(Math.abs(Date.now() - (session?.proof_moment.getTime() ?? 0))).toBeLessThan(1 * minutes)
    const change = await tab.act('/api/auth/totp')
    expect([change.status, change.body.code, change.body.methods]).toEqual([
      403,
      'fresh_sign_in_required',
      ['password'],
    ])
    expect((await tab.get('/api/auth/verify?fresh=10m')).status).toBe(403)
    const { body } = await tab.get('/api/auth/events')
    expect((body.events as { kind: string }[])[0]).toMatchObject({ kind: 'signed_in' })
  })

  it('takes the link in the browser that asked, which can look at it first', async () => {
    await latchkey.signedUp('bob')
    const { tab, token } = await logins.mailed(addressOf('bob'))
    const look = async (browser: Browser) => (await browser.post(`${mailLogin}/check`, { token })).body.state
    expect([await look(tab), await look(tab), await look(latchkey.browser())]).toEqual([
      'usable',
      'usable',
      'other_browser',
    ])
    expect((await logins.confirm(tab, { token })).status).toBe(200)
    expect(await look(tab)).toBe('over')
    expect((await tab.get('/api/auth/me')).status).toBe(200)
  })

  it('signs in no browser but the one that asked, by its code or its link, and is not used up elsewhere', async () => {
    await latchkey.signedUp('carl')
    const { tab, code, token } = await logins.mailed(addressOf('carl'))
    const thief = latchkey.browser()
    await logins.ask(thief, addressOf('nobody-here'))
    for (const elsewhere of [latchkey.browser(), thief])
      for (let round = 0; round < 6; round++) {
        const byLink = await logins.confirm(elsewhere, { token })
        expect([byLink.status, byLink.body.code, byLink.setCookies]).toEqual([409, 'other_browser', []])
        expect((await logins.confirm(elsewhere, { code })).status).toBe(401)
      }
    // A code is no token and the other way round.
    expect(codeOf(await logins.confirm(tab, { token: code }))).toBe('invalid_link')
    expect(codeOf(await logins.confirm(tab, { code: token.slice(0, 32) }))).toBe('wrong_mailed_code')
    expect((await logins.confirm(tab, { code, token })).status).toBe(400)
    expect((await logins.confirm(tab, {})).status).toBe(400)
    expect((await tab.get('/api/auth/me')).status).toBe(401)
    expect((await logins.confirm(tab, { code })).status).toBe(200)
  })

  it('has five tries and ten minutes, by the database’s clock', async () => {
    await latchkey.signedUp('dora')
    const { tab, code, token } = await logins.mailed(addressOf('dora'))
    const tries = []
    for (let round = 0; round < 5; round++) tries.push(codeOf(await logins.confirm(tab, { code: wrong(code) })))
    expect(tries).toEqual([...Array(4).fill('wrong_mailed_code'), 'mailed_code_void'])
    expect([await logins.confirm(tab, { code }), await logins.confirm(tab, { token })].map(codeOf)).toEqual([
      'mailed_code_void',
      'invalid_link',
    ])

    const late = await logins.mailed(addressOf('dora'))
    await latchkey.advance(10 * minutes + 1)
    expect(codeOf(await logins.confirm(late.tab, { code: late.code }))).toBe('mailed_code_void')
    const failures = await latchkey.sql.query<{ reason: string }>(
      `select reason from events where kind = 'sign_in_failed' and user_id = $1 order by reason desc`,
      [await idOf('dora')],
    )
    expect(failures.map(({ reason }) => reason)).toEqual([...Array(4).fill('mail_wrong_code'), 'mail_code_void'])
  })

  it('a new mail replaces that of its own browser only', async () => {
    await latchkey.signedUp('eve')
    const phone = await logins.mailed(addressOf('eve'))
    const laptop = await logins.mailed(addressOf('eve'))
    const again = await logins.mailed(addressOf('eve'), laptop.tab)
    expect(codeOf(await logins.confirm(laptop.tab, { code: laptop.code }))).toBe('wrong_mailed_code')
    expect(codeOf(await logins.confirm(laptop.tab, { token: laptop.token }))).toBe('invalid_link')
    expect((await logins.confirm(phone.tab, { code: phone.code })).status).toBe(200)
    expect((await logins.confirm(laptop.tab, { token: again.token })).status).toBe(200)
  })

  it('begins one session of many requests at once, at two instances', async () => {
    await latchkey.signedUp('fay')
    const { clock, config } = latchkey
    const other = await startApp(
      { ...config, port: 0 },
      { clock, log: latchkey.app.log, onFatal: () => undefined, ...(await sharedParts()) },
    )
    try {
      const { tab, code, token } = await logins.mailed(addressOf('fay'))
      const headers = { origin: latchkey.url }
      const tabs = Array.from({ length: 12 }, (_, at) =>
        at % 2 === 0 ? tab.copy() : createBrowser(`http://localhost:${other.config.port}`, tab.copy().jar),
      )
      const answers = await Promise.all(
        tabs.map((each, at) =>
          each.post(`${mailLogin}/confirm`, at < 8 ? { token } : { code }, { headers, address: otherNetwork() }),
        ),
      )
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
      expect(await sessionsOf('fay')).toHaveLength(2)
    } finally {
      await other.close()
    }
  })

  it('is voided by every change of the account that voids waiting sign-ins', async () => {
    const emailChanges = createEmailChanges(latchkey)
    const byOperator = async (name: string) => ({
      userId: await idOf(name),
      client: { ip: 'command line', userAgent: '' },
    })
    const changePassword = (_: string, tab: Browser) =>
      tab.act('/api/auth/change-password', { currentPassword: goodPassword, newPassword: 'amber-Meadow-27-kettle' })
    type Change = (name: string, tab: Browser) => Promise<unknown>
    const changes: { what: string; before?: Change; change: Change }[] = [
      { what: 'password', change: changePassword },
      { what: 'factor', change: (_, tab) => addAuthenticator(tab, latchkey) },
      { what: 'address', change: (name, tab) => emailChanges.change(tab, addressOf(`${name}-new`)) },
      {
        what: 'undo',
        before: changePassword,
        change: async (name) => {
          const { text } = await latchkey.mailTo(addressOf(name), /undo#/)
          const undone = await emailChanges.undoFactor(/(factor-[\w-]+)/.exec(text)?.[1] ?? '')
          expect(undone.status).toBe(204)
        },
      },
      { what: 'everywhere', change: (_, tab) => tab.act('/api/auth/logout-all') },
      {
        what: 'ended',
        change: async (name) => latchkey.app.rooms.operatorChanges.endSessions(await byOperator(name)),
      },
      {
        what: 'disabled',
        change: async (name) => latchkey.app.rooms.operatorChanges.disable(await byOperator(name)),
      },
      {
        what: 'lock-down',
        change: async (name) => latchkey.app.rooms.operatorChanges.lockDown(await byOperator(name)),
      },
    ]
    for (const { what, before, change } of changes) {
      const name = `void-${what}`
      const owner = await latchkey.signedUp(name)
      await before?.(name, owner)
      const { tab, code } = await logins.mailed(addressOf(name))
      expect(await openOf(name)).toBe(1)
      await change(name, owner)
      expect([what, await openOf(name)]).toEqual([what, 0])
      expect(codeOf(await logins.confirm(tab, { code }))).toBe('mailed_code_void')
    }
  })

  it('no one is signed in by a planted cookie: not without a press, and not after an own request', async () => {
    for (const name of ['mallory', 'victim']) await latchkey.signedUp(name)
    const planted = await logins.mailed(addressOf('mallory'))
    const [thief, victim] = [planted.tab, latchkey.browser()]
    const value = thief.jar.get('attempt_mail') ?? ''
    victim.jar.set('attempt_mail', value)
    // The victim opens the link: the page looks at it, and waits for a press. No other site can press.
    await victim.get('/login')
    expect((await victim.post(`${mailLogin}/check`, { token: planted.token })).body.state).toBe('usable')
    for (const given of [{ token: planted.token }, { code: planted.code }]) {
      const headers = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
      const pressed = await victim.post(`${mailLogin}/confirm`, given, { headers, address: otherNetwork() })
      expect([pressed.status, codeOf(pressed)]).toEqual([403, 'cross_site'])
    }
    expect((await victim.get('/api/auth/me')).status).toBe(401)
    // The victim asks: the planted value is worth nothing from then on, in both browsers.
    const own = await logins.mailed(addressOf('victim'), victim)
    expect(victim.jar.get('attempt_mail')).not.toBe(value)
    for (const code of [own.code, planted.code])
      expect(codeOf(await logins.confirm(thief, { code }))).toBe('mailed_code_void')
    expect(codeOf(await logins.confirm(victim, { token: planted.token }))).toBe('invalid_link')
    expect((await logins.confirm(victim, { code: own.code })).body).toMatchObject({ user: { username: 'victim' } })
    // In production no other host can plant it at all: its name has a prefix, and the plain one is not read.
    const cookies = createCookies({ secure: true, host: 'auth.example.com' })
    const read = (name: string) =>
      cookies.read({ headers: { cookie: `${name}=${value}` } } as FastifyRequest, 'attempt_mail')
    expect([read('attempt_mail'), read('__Host-attempt_mail')]).toEqual([undefined, value])
  })

  it('goes on to the second step, which a trusted device does not skip', async () => {
    const tab = await latchkey.signedUp('gus')
    const app = await addAuthenticator(tab, latchkey)
    await latchkey.advance(1 * minutes)
    const trusted = latchkey.browser()
    await trusted.post('/login', { username: 'gus', password: goodPassword })
    await trusted.post('/api/auth/second-factor', { code: app.code(), trustDevice: true })
    await trusted.act('/api/auth/logout')
    expect((await trusted.post('/login', { username: 'gus', password: goodPassword })).status).toBe(200)

    const { code } = await logins.mailed(addressOf('gus'), trusted)
    const asked = await logins.confirm(trusted, { code })
    expect([asked.status, asked.body]).toEqual([202, { next: 'second_factor', methods: ['totp', 'recovery_code'] }])
    await latchkey.advance(1 * minutes)
    expect((await trusted.post('/api/auth/second-factor', { code: app.code() })).status).toBe(200)
    expect((await sessionsOf('gus')).at(-1)?.methods).toEqual(['mail', 'otp'])
    expect((await trusted.get('/api/auth/verify?factors=2')).status).toBe(204)
  })

  it('keeps no known address of a deleted account', async () => {
    const early = latchkey.browser()
    await logins.mailed(addressOf('hal'), early)
    const owner = await latchkey.signedUp('hal')
    await logins.mailed(addressOf('hal'))
    await owner.act('/api/auth/delete-account', { username: 'hal' })
    expect(await latchkey.sql.query(`select 1 from mail_sign_ins where email_key = 'hal@example.com'`)).toEqual([])
  })
})

describe('an address without an account', () => {
  it('leads to a registration, and the mail is its way in', async () => {
    const { tab, mail, code } = await logins.mailed('New.Person@example.com')
    expect(mail.text).toContain('has no account')
    expect(mail.text).not.toContain('IP address')
    const asked = await logins.confirm(tab, { code })
    expect([asked.status, asked.body]).toEqual([
      202,
      { next: 'registration', methods: [], email: 'New.Person@example.com', username: 'New.Person', fields: [] },
    ])
    // The page may be loaded again, in this browser.
    const { next: _, methods: __, ...registration } = asked.body
    expect((await tab.get(`${mailLogin}/registration`)).body).toEqual(registration)
    expect((await latchkey.browser().get(`${mailLogin}/registration`)).status).toBe(401)
    expect(codeOf(await logins.confirm(tab, { code }))).toBe('mailed_code_void')

    await latchkey.signedUp('taken')
    const create = (username: string, from = tab) => from.post(`${mailLogin}/registration`, { username })
    expect([codeOf(await create('taken')), codeOf(await create('a b'))]).toEqual([
      'username_taken',
      'username_characters',
    ])
    const copies = Array.from({ length: 5 }, () => tab.copy())
    const created = await Promise.all(copies.map((copy) => create('New.Person', copy)))
    const [first, ...others] = created.map(({ status }) => status).sort()
    // 409: the first one got the name after this one was let in.
    expect([first, others.filter((status) => ![401, 409].includes(status))]).toEqual([200, []])
    const [user] = await latchkey.sql.query(
      `select email, password_hash, email_proven from users where username = 'New.Person'`,
    )
    expect(user).toEqual({ email: 'New.Person@example.com', password_hash: null, email_proven: true })

    // An account that has nothing else steps up by a new mail.
    const again = await logins.mailed('New.Person@example.com')
    expect((await logins.confirm(again.tab, { code: again.code })).status).toBe(200)
    const { body } = await again.tab.act('/api/auth/totp')
    expect([body.code, body.methods]).toEqual(['fresh_sign_in_required', ['mail']])
    const before = [...latchkey.mails()]
    await again.tab.act('/api/auth/step-up/mail')
    const proof = await latchkey.mailTo('New.Person@example.com', /asks once more/, before)
    const mailedCode = /^\s*([A-Z2-9]{4}-[A-Z2-9]{4})\s*$/m.exec(proof.text)?.[1]
    expect((await again.tab.act('/api/auth/step-up', { mailedCode })).status).toBe(200)
    expect((await again.tab.act('/api/auth/totp')).status).toBe(200)
  })

  it('that gets an account meanwhile is not registered twice', async () => {
    const waiting = await logins.mailed(addressOf('ivy'))
    const proven = await logins.mailed(addressOf('ivy'))
    expect((await logins.confirm(proven.tab, { code: proven.code })).status).toBe(202)
    await latchkey.signedUp('ivy')
    expect(codeOf(await logins.confirm(waiting.tab, { code: waiting.code }))).toBe('mailed_code_void')
    const late = await proven.tab.post(`${mailLogin}/registration`, { username: 'ivy-2' })
    expect([late.status, codeOf(late)]).toEqual([409, 'already_registered'])
  })
})
