import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { days, hours, minutes } from '../../src/lib/durations.js'
import type { Transaction } from '../../src/platform/database/database.js'
import { addAuthenticator } from '../support/authenticator.js'
import { testPostgres } from '../support/databases.js'
import { createEmailChanges } from '../support/email-changes.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { overtaken, untilBlocked } from '../support/waits-for-lock.js'

describe('changing the email', () => {
  let latchkey: Latchkey
  let changes: ReturnType<typeof createEmailChanges>
  beforeAll(async () => {
    latchkey = await startLatchkey()
    changes = createEmailChanges(latchkey)
  })
  afterAll(() => latchkey.stop())

  const login = (username: string, password = goodPassword) =>
    latchkey
      .browser()
      .post('/login', { username, password })
      .then(({ status }) => status)

  it('asks for a fresh sign-in, and changes nothing before the new address is confirmed', async () => {
    const tab = await latchkey.signedUp('ada')
    await latchkey.advance(11 * minutes)
    expect((await changes.ask(tab, 'ada@example.org')).body.code).toBe('fresh_sign_in_required')
    await tab.act('/api/auth/step-up', { password: goodPassword })
    expect((await changes.ask(tab, 'no address')).body.code).toBe('email_shape')
    expect((await changes.ask(tab, 'ada@example.org')).status).toBe(202)
    expect(await changes.emailOf('ada')).toBe('ada@example.com')
    const notice = await latchkey.mailTo('ada@example.com', /about to change/)
    expect(notice.text).toMatch(/ada@example\.org.*\/undo#token=email-/s)
    expect((await latchkey.mailTo('ada@example.org')).text).not.toMatch(/undo|example\.com\b.*ada/)
  })

  it('is undone: what still waits for the address of the thief is withdrawn, and not what waits for the owner', async () => {
    const thief = await latchkey.signedUp('late')
    await changes.change(thief, 'late-thief@example.net')
    const token = await changes.undoToken('late@example.com')
    const { id: userId } = (await latchkey.app.rooms.users.findByLogin('late')) ?? { id: '' }
    // As after an answer of the mail server that it cannot take them now.
    for (const recipient of ['late-thief@example.net', 'late@example.com'])
      await latchkey.sql.query(
        `insert into outgoing_mail (id, recipient_key, recipient, user_id, kind, content, created_at, next_attempt_at)
         values ($1, $2, $2, $3, 'welcome', 'sealed', now(), now() + interval '1 hour')`,
        [randomUUID(), recipient, userId],
      )
    expect((await changes.undoEmail(token)).status).toBe(204)
    const waiting = await latchkey.sql.query(
      "select recipient from outgoing_mail where user_id = $1 and next_attempt_at > now() + interval '50 minutes'",
      [userId],
    )
    expect(waiting).toEqual([{ recipient: 'late@example.com' }])
    await latchkey.mailTo('late-thief@example.net', /earlier email address/)
    await latchkey.sql.query('delete from outgoing_mail where user_id = $1', [userId])
  })

  it('sends nothing to the present address, shows the one that waits, and cancels it', async () => {
    const tab = await latchkey.signedUp('abe')
    const waiting = async () => (await tab.get('/api/auth/email')).body.waiting
    expect((await changes.ask(tab, 'ABE@example.com')).status).toBe(202)
    expect(await waiting()).toBeNull()
    await changes.ask(tab, 'abe@example.org')
    expect(await waiting()).toEqual({ email: 'abe@example.org', expiresAt: expect.any(String), codeUsable: true })
    const token = await changes.confirmToken('abe@example.org')
    expect((await tab.send('DELETE', '/api/auth/email', undefined, { csrf: true })).status).toBe(204)
    expect(await waiting()).toBeNull()
    expect((await tab.send('DELETE', '/api/auth/email', undefined, { csrf: true })).status).toBe(204)
    expect((await changes.confirm(tab, token)).body.code).toBe('invalid_link')
    const kinds = (await tab.get('/api/auth/events')).body.events as { kind: string }[]
    expect(kinds.map(({ kind }) => kind).filter((kind) => kind.startsWith('email'))).toEqual([
      'email_change_cancelled',
      'email_change_asked',
    ])
    await latchkey.advance(11 * minutes)
    const late = await tab.send('DELETE', '/api/auth/email', undefined, { csrf: true })
    expect(late.body.code).toBe('fresh_sign_in_required')
  })

  it('by the code of the mail, once, in the session that asked, five tries, and not with the code of an earlier mail', async () => {
    const tab = await latchkey.signedUp('cody')
    const enter = async (code = 'AAAA-AAAA', by = tab) => {
      const { status, body } = await by.act('/api/auth/email/code', { code })
      return [status, body.code]
    }
    const usable = async (by = tab) =>
      ((await by.get('/api/auth/email')).body.waiting as { codeUsable: boolean }).codeUsable
    const codeFor = async (address: string) => {
      await changes.ask(tab, address)
      return /^([A-Z2-9]{4}-[A-Z2-9]{4})$/m.exec((await latchkey.mailTo(address, /Confirm your new/)).text)?.[1] ?? ''
    }
    expect(await enter()).toEqual([401, 'mailed_code_void'])
    const earlier = await codeFor('cody1@example.org')
    const code = await codeFor('cody2@example.org')
    expect(await enter(earlier)).toEqual([401, 'wrong_mailed_code'])
    const phone = latchkey.browser()
    await phone.post('/login', { username: 'cody', password: goodPassword })
    expect([await usable(phone), await usable()]).toEqual([false, true])
    expect(await enter(code, phone)).toEqual([409, 'other_browser'])
    expect((await tab.post('/api/auth/email/code', { code })).status).toBe(403)
    const typed = code.toLowerCase().replace('-', ' ')
    const answers = await Promise.all([enter(typed), enter(typed)])
    expect(answers.map(([status]) => status)).toContain(204)
    expect(answers.filter(([status]) => status === 204)).toHaveLength(1)
    expect(await changes.emailOf('cody')).toBe('cody2@example.org')
    expect((await tab.get('/api/auth/me')).status).toBe(200)
    expect((await phone.post('/api/auth/refresh')).status).toBe(401)

    const late = await codeFor('cody3@example.org')
    for (const left of ['wrong', 'wrong', 'wrong', 'wrong']) expect(await enter()).toEqual([401, `${left}_mailed_code`])
    expect(await enter()).toEqual([401, 'mailed_code_void'])
    expect([await enter(late), await usable()]).toEqual([[401, 'mailed_code_void'], false])
    // The link of the same mail still works.
    expect((await changes.confirm(tab, await changes.confirmToken('cody3@example.org'))).status).toBe(204)
  })

  it('with a session: the other ones end, this one gets tokens with the new email, and no reset link works', async () => {
    const tab = await latchkey.signedUp('ben')
    const other = latchkey.browser()
    await other.post('/login', { username: 'ben', password: goodPassword })
    const copied = tab.copy()
    await latchkey.browser().post('/reset-password', { email: 'ben@example.com' })
    const reset = await changes.resetToken('ben@example.com')
    await changes.change(tab, 'Ben@example.org')
    expect((await tab.get('/api/auth/verify')).headers.get('x-auth-email')).toBe('Ben@example.org')
    expect((await tab.get('/api/auth/account')).body).toMatchObject({ user: { email: 'Ben@example.org' } })
    expect((await other.get('/api/auth/me')).status).toBe(401)
    expect((await copied.get('/api/auth/account')).status).toBe(401)
    expect((await latchkey.browser().post('/api/auth/reset-password/check', { token: reset })).status).toBe(400)
    expect([await login('ben@example.com'), await login('ben@example.org')]).toEqual([401, 200])
    const kinds = (await tab.get('/api/auth/events')).body.events as { kind: string }[]
    expect(kinds.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['email_change_asked', 'email_changed']))
    expect((await latchkey.mailTo('ben@example.com', /was changed/)).text).toContain('/undo#token=email-')
  })

  it('without a session: by the password, which begins no session; with two-step sign-in not at all', async () => {
    const tab = await latchkey.signedUp('cam')
    await changes.ask(tab, 'cam@example.org')
    const token = await changes.confirmToken('cam@example.org')
    const stranger = latchkey.browser()
    const check = async (browser: typeof tab) => (await browser.post('/api/auth/email/check', { token })).body
    // The mail went to the new address, so it is named; the account is not.
    expect(await check(stranger)).toEqual({ email: 'cam@example.org', present: false, proof: 'password' })
    expect(await check(tab)).toEqual({ email: 'cam@example.org', present: false, proof: 'session' })
    expect((await changes.confirm(stranger, token)).body.code).toBe('password_required')
    expect((await changes.confirm(stranger, token, 'wrong')).body.code).toBe('wrong_current_password')
    const another = await latchkey.signedUp('dan')
    expect((await changes.confirm(another, token)).body.code).toBe('password_required')
    const done = await changes.confirm(stranger, token, goodPassword)
    expect([done.status, done.setCookies]).toEqual([204, []])
    expect(await changes.emailOf('cam')).toBe('cam@example.org')
    expect((await tab.get('/api/auth/me')).status).toBe(401)

    await addAuthenticator(another, latchkey)
    await changes.ask(another, 'dan@example.org')
    const guarded = await changes.confirmToken('dan@example.org')
    expect((await changes.confirm(stranger, guarded, goodPassword)).body.code).toBe('not_authenticated')
    expect((await changes.confirm(another, guarded)).status).toBe(204)
  })

  it('without a session: a password that is replaced, or an app that is added, before the change is made is no proof any more', async () => {
    const overtakers = {
      nora: (sql: Transaction, id: string) =>
        sql.query("update users set password_hash = password_hash || '' || 'x' where id = $1", [id]),
      otto: (sql: Transaction, id: string) =>
        sql.query("insert into totp_secrets values ($1, 'sealed elsewhere', now(), 0)", [id]),
    }
    for (const [name, change] of Object.entries(overtakers)) {
      await changes.ask(await latchkey.signedUp(name), `${name}@example.org`)
      const token = await changes.confirmToken(`${name}@example.org`)
      const stranger = latchkey.browser()
      const answer = await overtaken(latchkey, name, () => changes.confirm(stranger, token, goodPassword), change)
      expect([name, answer.status, answer.body.code]).toEqual([name, 401, 'not_authenticated'])
      expect(await changes.emailOf(name)).toBe(`${name}@example.com`)
    }
  })

  it('a link works once, for a day, and only the newest one', async () => {
    const tab = await latchkey.signedUp('eli')
    await changes.ask(tab, 'eli@example.net')
    const older = await changes.confirmToken('eli@example.net')
    await changes.ask(tab, 'eli@example.org')
    const token = await changes.confirmToken('eli@example.org')
    expect((await changes.confirm(tab, older)).body.code).toBe('invalid_link')
    await latchkey.advance(24 * hours + minutes)
    await tab.post('/api/auth/refresh')
    expect((await changes.confirm(tab, token)).body.code).toBe('invalid_link')
    await tab.act('/api/auth/step-up', { password: goodPassword })
    await changes.ask(tab, 'eli@example.org')
    await expect.poll(() => changes.confirmToken('eli@example.org')).not.toBe(token)
    const newest = await changes.confirmToken('eli@example.org')
    const tries = await Promise.all(Array.from({ length: 8 }, () => changes.confirm(tab.copy(), newest)))
    expect(tries.filter(({ status }) => status === 204)).toHaveLength(1)
  })

  it('answers alike for a taken address, whose owner gets a mail; no user loses or shares an address', async () => {
    const [eve, fay] = [await latchkey.signedUp('eve'), await latchkey.signedUp('fay')]
    const taken = await changes.ask(eve, 'FAY@example.com')
    const free = await changes.ask(eve, 'eve@example.org')
    expect([taken.status, taken.body]).toEqual([free.status, free.body])
    expect((await latchkey.mailTo('FAY@example.com', /already used/)).text).not.toContain('#token')
    // Both confirm at once: one of them has the address.
    await changes.ask(eve, 'shared@example.org')
    const first = await changes.confirmToken('shared@example.org')
    await changes.ask(fay, 'shared@example.org')
    await expect.poll(() => latchkey.mails().filter(({ to }) => to === 'shared@example.org').length).toBe(2)
    const second = await changes.confirmToken('shared@example.org')
    const both = await Promise.all([changes.confirm(eve, first), changes.confirm(fay, second)])
    expect(both.map(({ status }) => status).sort()).toEqual([204, 409])
    // Who was refused keeps the address and the session.
    const loser = both[0]?.status === 409 ? eve : fay
    expect((await loser.get('/api/auth/account')).status).toBe(200)
  })

  it('a registration that is finished in the meantime has the address', async () => {
    const gil = await latchkey.signedUp('gil')
    await changes.ask(gil, 'meantime@example.org')
    const token = await changes.confirmToken('meantime@example.org')
    await latchkey.signedUp('hal', { email: 'meantime@example.org' })
    expect((await changes.confirm(gil, token)).body.code).toBe('email_taken')
    expect(await changes.emailOf('gil')).toBe('gil@example.com')
  })

  it('keeps the old address for a week: no user registers it or changes to it, and the answers do not tell', async () => {
    const ida = await latchkey.signedUp('ida')
    await changes.change(ida, 'ida@example.org')
    const tab = latchkey.browser()
    const registration = { username: 'thief', email: 'ida@example.com', password: goodPassword }
    const asked = await tab.post('/api/auth/register', registration)
    const other = await latchkey
      .browser()
      .post('/api/auth/register', { ...registration, username: 'thief2', email: 'new@example.com' })
    expect([asked.status, asked.body]).toEqual([other.status, other.body])
    expect((await latchkey.mailTo('ida@example.com', /cannot be registered/)).text).not.toContain('#token')
    const jon = await latchkey.signedUp('jon')
    expect((await changes.ask(jon, 'ida@example.com')).status).toBe(202)
    await latchkey.mailTo('ida@example.com', /already used/)
    // The owner may go back.
    await changes.change(ida, 'Ida@example.com')
    await changes.change(ida, 'ida@example.net')

    await latchkey.advance(7 * days + minutes)
    expect(await latchkey.app.rooms.users.reservedFor('ida@example.com')).toBeUndefined()
    await latchkey.signedUp('heir', { email: 'ida@example.com' })
  })

  it('an address that is being given up goes to no user, whatever happens at once', async () => {
    const leo = await latchkey.signedUp('leo')
    const tab = latchkey.browser()
    // A registration that began while the address was taken, and whose code is known.
    await tab.post('/api/auth/register', { username: 'mia', email: 'leo2@example.com', password: goodPassword })
    const link = /verify-email#token=([\w-]+)/.exec((await latchkey.mailTo('leo2@example.com')).text)?.[1]
    await changes.change(leo, 'leo2@example.com')
    await changes.ask(leo, 'leo3@example.com')
    const token = await changes.confirmToken('leo3@example.com')
    const [verified] = await Promise.all([
      tab.post('/api/auth/verify-email', { token: link }),
      changes.confirm(leo, token),
    ])
    expect(verified.body.code).toBe('already_registered')
    expect(await changes.emailOf('leo')).toBe('leo3@example.com')
  })

  it('at the limit of mails to an address it does not tell either: the last wish counts, and the one before is void', async () => {
    await latchkey.signedUp('target', { email: 'target@example.org' })
    for (const [name, address] of [
      ['oda', 'target'],
      ['pia', 'nobody'],
    ]) {
      const tab = await latchkey.signedUp(String(name))
      for (const tag of [1, 2, 3, 4, 5]) await changes.ask(tab, `${address}+${tag}@example.org`)
      const before = await changes.confirmToken(`${address}+5@example.org`)
      expect((await changes.ask(tab, `${address}@example.org`)).status).toBe(202)
      const { emailChange } = (await tab.get('/api/auth/export')).body
      expect(emailChange).toMatchObject({ email: `${address}@example.org` })
      expect((await changes.confirm(tab, before)).body.code).toBe('invalid_link')
    }
    const mailed = await latchkey.sql.query(
      `select recipient from outgoing_mail where kind in ('confirm-email', 'email-taken')
         and recipient in ('target@example.org', 'nobody@example.org')`,
    )
    expect(mailed).toEqual([])
  })

  it('refuses an address to a statement that waited for it to become free', async () => {
    await latchkey.signedUp('quin')
    await latchkey.signedUp('rob')
    const outside = testPostgres(String(latchkey.config.databaseUrl))
    const { taken } = await latchkey.sql.transaction(async (sql) => {
      await sql.query("update users set email_key = 'quin@example.org' where username = 'quin'")
      await sql.query(
        `insert into undos (hash, user_id, kind, email, email_key, since, made_at, expires_at)
         select '\\x51', id, 'email', 'quin@example.com', 'quin@example.com', now(), now(), now() + interval '7 days'
         from users where username = 'quin'`,
      )
      const taking = "update users set email_key = 'quin@example.com' where username = 'rob'"
      const refusal = outside.query(taking).catch((error: unknown) => error)
      await untilBlocked(outside)
      return { taken: refusal }
    })
    expect(await taken).toMatchObject({ code: '23505', constraint_name: 'users_email_taken' })
    await outside.close()
  })

  it('an account asks for ten new addresses an hour at most', async () => {
    const tab = await latchkey.signedUp('ned')
    // No mail goes to it, so it does not count.
    expect((await changes.ask(tab, 'ned@')).body.code).toBe('email_shape')
    const answers = []
    for (let round = 0; round < 11; round++) answers.push(await changes.ask(tab, `ned${round}@example.org`))
    expect(answers.map(({ status }) => status)).toEqual([...Array(10).fill(202), 429])
  })
})
