import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { days, hours, minutes } from '../../src/lib/durations.js'
import { factsAtStart } from '../../src/sessions/session-facts.js'
import { addAuthenticator } from '../support/authenticator.js'
import type { Browser } from '../support/client.js'
import { createEmailChanges } from '../support/email-changes.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { addPasskey, signInWith } from '../support/passkey.js'

const newPassword = 'amber-Meadow-27-kettle'

let latchkey: Latchkey
let changes: ReturnType<typeof createEmailChanges>
beforeAll(async () => {
  latchkey = await startLatchkey()
  changes = createEmailChanges(latchkey)
})
afterAll(() => latchkey.stop())

const login = (username: string, password = goodPassword, tab = latchkey.browser()) =>
  tab.post('/login', { username, password }).then(({ status }) => status)
const me = (tab: Browser) => tab.get('/api/auth/me').then(({ status }) => status)
const reset = (token: string) =>
  latchkey.browser().post('/api/auth/reset-password/confirm', { token, password: newPassword })
const waitingOf = (username: string) =>
  latchkey.sql.query(
    `select hash from email_changes join users as u on u.id = user_id where u.username = $1
     union all select hash from one_time_tokens join users as u on u.id = user_id where u.username = $1
     union all select hash from trusted_devices join users as u on u.id = user_id where u.username = $1
     union all select hash from sign_in_challenges join users as u on u.id = user_id where u.username = $1`,
    [username],
  )

describe('undoing a changed email', () => {
  it('takes another password than the one that the thief may know', async () => {
    const owner = await latchkey.signedUp('same')
    await changes.change(owner, 'same-thief@example.net')
    const token = await changes.undoToken('same@example.com')
    const again = await latchkey.browser().post('/api/auth/email/undo', { token, password: goodPassword })
    expect([again.status, again.body.code]).toEqual([409, 'password_unchanged'])
    expect((await latchkey.browser().post('/api/auth/email/undo', { token, password: newPassword })).status).toBe(204)
    expect([await login('same'), await login('same', newPassword)]).toEqual([401, 200])
    // The thief learns nothing about the browser of the owner.
    const notice = await latchkey.mailTo('same-thief@example.net', /earlier email address/)
    expect(notice.text).not.toContain('127.0.0.1')
  })

  it('gives the account back: the thief has nothing left, and the owner chooses a new password', async () => {
    const thief = await latchkey.signedUp('ada')
    await changes.change(thief, 'thief@example.net')
    const app = await addAuthenticator(thief, latchkey)
    const trusted = latchkey.browser()
    await login('ada', goodPassword, trusted)
    await trusted.post('/api/auth/second-factor', { code: app.code(), trustDevice: true })
    const waiting = latchkey.browser()
    expect(await login('ada', goodPassword, waiting)).toBe(202)
    await changes.ask(thief, 'thief2@example.net')
    const next = await changes.confirmToken('thief2@example.net')
    await latchkey.browser().post('/reset-password', { email: 'thief@example.net' })
    const stolenReset = await changes.resetToken('thief@example.net')
    const undoOfThief = await changes.undoToken('thief@example.net', /about to change/)

    expect((await changes.undoEmail(await changes.undoToken('ada@example.com'))).status).toBe(204)

    expect(await changes.emailOf('ada')).toBe('ada@example.com')
    expect([await me(thief), await me(trusted)]).toEqual([401, 401])
    expect((await thief.post('/api/auth/refresh')).status).toBe(401)
    expect((await waiting.post('/api/auth/second-factor', { code: app.code(30_000) })).status).toBe(401)
    expect(await login('ada', goodPassword, trusted)).toBe(401)
    expect((await changes.confirm(thief, next, goodPassword)).body.code).toBe('invalid_link')
    expect((await reset(stolenReset)).status).toBe(400)
    expect((await changes.undoEmail(undoOfThief)).body.code).toBe('invalid_link')
    // The only thing that waits is the reset of the owner.
    expect(await waitingOf('ada')).toHaveLength(1)
    await latchkey.mailTo('thief@example.net', /changed back/)

    expect((await reset(await changes.resetToken('ada@example.com'))).status).toBe(204)
    // Without the thief's second factor.
    expect([await login('ada', newPassword), await login('thief@example.net', newPassword)]).toEqual([200, 401])
    // The address of the thief is free at once.
    expect(await latchkey.app.rooms.users.reservedFor('thief@example.net')).toBeUndefined()
  })

  it('works after further changes, and from each earlier address only backwards', async () => {
    const thief = await latchkey.signedUp('ben')
    await changes.change(thief, 'ben1@example.net')
    await changes.change(thief, 'ben2@example.net')
    const [first, second] = [
      await changes.undoToken('ben@example.com'),
      await changes.undoToken('ben1@example.net', /was changed/),
    ]
    expect((await changes.undoEmail(second)).status).toBe(204)
    expect(await changes.emailOf('ben')).toBe('ben1@example.net')
    expect((await changes.undoEmail(first)).status).toBe(204)
    expect(await changes.emailOf('ben')).toBe('ben@example.com')
    expect((await changes.undoEmail(await changes.undoToken('ben1@example.net'))).status).toBe(400)
  })

  it('before the change is confirmed it stops it; what the account had before the last seven days stays', async () => {
    const tab = await latchkey.signedUp('cam')
    const app = await addAuthenticator(tab, latchkey)
    await latchkey.advance(7 * days + minutes)
    await login('cam', goodPassword, tab)
    await tab.post('/api/auth/second-factor', { code: app.code() })
    await changes.ask(tab, 'cam@example.net')
    const token = await changes.confirmToken('cam@example.net')
    const undo = await changes.undoToken('cam@example.com', /about to change/)
    // A scanner that opens every link changes nothing, wherever it puts the token.
    const links = () =>
      latchkey.sql.query(
        `select hash from (select user_id, hash from email_changes union all select user_id, hash from undos where kind = 'email') as mailed
         join users as u on u.id = user_id where u.username = 'cam' order by hash`,
      )
    const mailed = await links()
    for (const method of ['GET', 'HEAD'] as const) {
      for (const page of ['/undo', '/confirm-email'])
        expect((await tab.send(method, `${page}?token=${undo}&token=${token}`)).status).toBe(200)
      for (const path of ['email/undo', 'factors/undo', 'email/confirm'])
        for (const given of [undo, token])
          expect((await tab.send(method, `/api/auth/${path}?token=${given}`)).status).toBe(405)
    }
    expect(await links()).toEqual(mailed)
    // A request for the other kind of undo does not accept this link.
    expect((await changes.undoFactor(undo)).body.code).toBe('invalid_link')
    expect((await changes.undoEmail(undo)).status).toBe(204)
    expect((await changes.confirm(tab, token)).body.code).toBe('invalid_link')
    expect((await reset(await changes.resetToken('cam@example.com'))).status).toBe(204)
    const owner = latchkey.browser()
    expect(await login('cam', newPassword, owner)).toBe(202)
    expect((await owner.post('/api/auth/second-factor', { code: app.recoveryCodes[0] })).status).toBe(200)
  })

  it('removes passkeys of the last seven days, also those from before the change, and says so first', async () => {
    const thief = await latchkey.signedUp('kit')
    const { passkey: ofOwner } = await addPasskey(thief, latchkey.url, 'old')
    await latchkey.advance(7 * days + minutes)
    await signInWith(thief, ofOwner)
    const { passkey: before } = await addPasskey(thief, latchkey.url, 'before')
    await latchkey.advance(6 * days)
    await signInWith(thief, before)
    await changes.change(thief, 'kit@example.net')
    const { passkey: after } = await addPasskey(thief, latchkey.url, 'after')
    // When the address is given up, the links to it work for the whole time again: also what they are about is removed.
    await latchkey.advance(6 * days)
    const token = await changes.undoToken('kit@example.com', /was changed/)
    expect((await latchkey.browser().post('/api/auth/undo/check', { token })).body).toEqual({
      kind: 'email',
      username: 'kit',
      email: 'kit@example.com',
      disabled: false,
      changesBack: { email: 'kit@example.com', username: null, language: null, totp: false },
      removes: { totp: false, recoveryCodes: false, passkeys: ['before', 'after'], providers: [], tokens: [] },
      keeps: { totp: false, passkeys: ['old'], providers: [], name: null },
    })
    expect((await changes.undoEmail(token)).status).toBe(204)
    for (const added of [before, after]) expect((await signInWith(latchkey.browser(), added)).status).toBe(401)
    expect((await signInWith(latchkey.browser(), ofOwner)).status).toBe(200)
  })

  it('a link of the thief removes no link of the owner, not even of a mail about a later factor', async () => {
    const thief = await latchkey.signedUp('lou')
    await changes.change(thief, 'lou@example.net')
    await addPasskey(thief, latchkey.url)
    await changes.change(thief, 'lou@example.org')
    const ofThief = await changes.undoToken('lou@example.net', /passkey/)
    const ofOwner = await changes.undoToken('lou@example.com', /was changed/)
    expect((await changes.undoFactor(ofThief)).status).toBe(204)
    expect(await changes.emailOf('lou')).toBe('lou@example.net')
    expect((await changes.undoEmail(ofOwner)).status).toBe(204)
    expect(await changes.emailOf('lou')).toBe('lou@example.com')
  })

  it('the new password is chosen with it, by the rules of a reset, and makes no browser known', async () => {
    const thief = await latchkey.signedUp('max')
    await changes.change(thief, 'max@example.net')
    const token = await changes.undoToken('max@example.com', /was changed/)
    const owner = latchkey.browser()
    const undo = (password: unknown) => owner.post('/api/auth/email/undo', { token, password })
    for (const weak of ['short', 'password', 'max@example.com-Aa1!'])
      expect(await undo(weak)).toMatchObject({ status: 422, body: { code: 'password_rejected' } })
    for (const none of ['', null, 1]) expect((await undo(none)).status).toBe(400)
    expect(await changes.emailOf('max')).toBe('max@example.net')
    const known = thief.jar.get('known_device')
    expect((await undo(newPassword)).status).toBe(204)
    expect(owner.jar.get('known_device')).toBe(undefined)
    const mail = await latchkey.mailTo('max@example.com', /is yours again/)
    expect(mail.text).not.toContain('reset-password')
    expect(await login('max', newPassword, owner)).toBe(200)
    // The browser that the thief used is not known any more: signing in there sends a mail.
    const stolen = latchkey.browser()
    stolen.jar.set('known_device', known ?? '')
    expect(await login('max', newPassword, stolen)).toBe(200)
    await latchkey.mailTo('max@example.com', /New sign-in/)
  })

  it('mails a link to choose a password, which no stranger voids by asking for a reset', async () => {
    const thief = await latchkey.signedUp('ola')
    await changes.change(thief, 'ola@example.net')
    expect((await changes.undoEmail(await changes.undoToken('ola@example.com', /was changed/))).status).toBe(204)
    const ofOwner = await changes.resetToken('ola@example.com', /is yours again/)
    await latchkey.browser().post('/reset-password', { email: 'ola@example.com' })
    const ofStranger = await changes.resetToken('ola@example.com', /asked to set a password/)
    expect((await reset(ofOwner)).status).toBe(204)
    expect(await login('ola', newPassword)).toBe(200)
    // Either of them is worth nothing once the other was used.
    expect((await reset(ofStranger)).status).toBe(400)
  })

  it('puts back the username from before the changes of the last seven days', async () => {
    const thief = await latchkey.signedUp('ned')
    const rename = (username: string) => thief.send('PATCH', '/api/auth/account', { username }, { csrf: true })
    for (const name of ['ned-2', 'ned', 'ned-3', 'ned-4', 'ned-5', 'ned-6'])
      expect((await rename(name)).status).toBe(200)
    expect((await rename('ned-7')).body).toMatchObject({ code: 'too_many_usernames' })
    const token = await changes.undoToken('ned@example.com', /ned-6/)
    expect(token).toMatch(/^factor-/)
    expect((await latchkey.browser().post('/api/auth/undo/check', { token })).body).toMatchObject({
      kind: 'username',
      username: 'ned-6',
      changesBack: { email: null, username: 'ned' },
    })
    expect((await changes.undoFactor(token)).status).toBe(204)
    expect(await changes.emailOf('ned')).toBe('ned@example.com')
    // The names of the thief are reserved for the account, as programs may know them, and do not count against its owner.
    const { users, usernames } = latchkey.app.rooms
    expect(await usernames.formerOwner('ned-3')).toBeDefined()
    const ned = await users.findByLogin('ned')
    const wanted = { username: 'ned-7', key: 'ned-7' }
    const refusal = latchkey.sql.transaction(async (sql) => ned && usernames.refusalFor(sql, ned, wanted))
    expect(await refusal).toBeUndefined()
  })

  it('puts back the language; until then warnings come in it, and what was asked for in the new one', async () => {
    const tab = await latchkey.signedUp('ida')
    const speak = (language: string) => tab.send('PATCH', '/api/auth/account', { language }, { csrf: true })
    for (const language of ['fr', 'de']) expect((await speak(language)).status).toBe(200)
    const token = await changes.undoToken('ida@example.com', /written in German/)
    expect((await tab.send('PATCH', '/api/auth/account', { username: 'ida-2' }, { csrf: true })).status).toBe(200)
    await latchkey.mailTo('ida@example.com', /Your username at/)
    await latchkey.browser().post('/reset-password', { email: 'ida@example.com' })
    await latchkey.mailTo('ida@example.com', /Passwort/)
    expect((await latchkey.browser().post('/api/auth/undo/check', { token })).body).toMatchObject({
      kind: 'language',
      changesBack: { email: null, username: 'ida', language: 'en' },
    })
    expect((await changes.undoFactor(token)).status).toBe(204)
    expect(await latchkey.sql.query("select language from users where username = 'ida'")).toEqual([{ language: 'en' }])
  })

  it('recovery codes that were made since do not work', async () => {
    const tab = await latchkey.signedUp('dee')
    const app = await addAuthenticator(tab, latchkey)
    await latchkey.advance(7 * days + minutes)
    await login('dee', goodPassword, tab)
    await tab.post('/api/auth/second-factor', { code: app.code() })
    await latchkey.advance(minutes)
    await changes.ask(tab, 'dee@example.net')
    const renewed = (await tab.act('/api/auth/recovery-codes')).body.recoveryCodes as string[]
    await changes.undoEmail(await changes.undoToken('dee@example.com', /about to change/))
    await reset(await changes.resetToken('dee@example.com'))
    const thief = latchkey.browser()
    await login('dee', newPassword, thief)
    expect((await thief.post('/api/auth/second-factor', { code: renewed[0] })).status).toBe(401)
    expect((await thief.post('/api/auth/second-factor', { code: app.code() })).status).toBe(200)
  })

  it('works for seven days after the change, and once', async () => {
    const tab = await latchkey.signedUp('eli')
    await changes.ask(tab, 'eli@example.net')
    const first = await changes.undoToken('eli@example.com', /about to change/)
    await latchkey.advance(23 * hours)
    await tab.post('/api/auth/refresh')
    expect((await changes.confirm(tab, await changes.confirmToken('eli@example.net'))).status).toBe(204)
    const second = await changes.undoToken('eli@example.com', /was changed/)
    await latchkey.advance(7 * days - hours)
    const tries = await Promise.all([first, first, second, second].map(changes.undoEmail))
    expect(tries.filter(({ status }) => status === 204)).toHaveLength(1)
    expect(await changes.emailOf('eli')).toBe('eli@example.com')

    const late = await latchkey.signedUp('fay')
    await changes.change(late, 'fay@example.net')
    const token = await changes.undoToken('fay@example.com')
    await latchkey.advance(7 * days + minutes)
    expect((await changes.undoEmail(token)).body.code).toBe('invalid_link')
    expect((await changes.undoEmail('email-x')).body.code).toBe('invalid_link')
  })

  it('wins against everything that happens at once', async () => {
    for (const round of [1, 2]) {
      const name = `gus${round}`
      const address = `${name}@example.com`
      const thief = await latchkey.signedUp(name)
      await changes.change(thief, `${name}@example.net`)
      await changes.ask(thief, `${name}@example.org`)
      const token = await changes.confirmToken(`${name}@example.org`)
      const undo = await changes.undoToken(address)
      await latchkey.browser().post('/reset-password', { email: `${name}@example.net` })
      const stolen = await changes.resetToken(`${name}@example.net`)
      const begun = await thief.act('/api/auth/totp')
      const [undone] = await Promise.all([
        changes.undoEmail(undo),
        changes.confirm(thief, token),
        reset(stolen),
        login(name),
        thief.act('/api/auth/totp/confirm', { code: '000000' }),
        latchkey.browser().post('/api/auth/register', { username: `x${name}`, email: address, password: goodPassword }),
      ])
      expect([begun.status, undone.status]).toEqual([200, 204])
      expect(await changes.emailOf(name)).toBe(address)
      expect(await me(thief)).toBe(401)
      expect(
        await latchkey.sql.query(
          `select 1 from sessions as r join users as u on u.id = r.user_id where u.username = $1`,
          [name],
        ),
      ).toEqual([])
      expect([await login(name), await login(name, newPassword)]).toEqual([401, 401])
      expect((await reset(await changes.resetToken(address))).status).toBe(204)
      expect(await login(name, newPassword)).toBe(200)
    }
  })
})

describe('undoing an added factor', () => {
  it('removes the authenticator app, ends everything, and the password needs a reset', async () => {
    const thief = await latchkey.signedUp('hal')
    const app = await addAuthenticator(thief, latchkey)
    const trusted = latchkey.browser()
    await login('hal', goodPassword, trusted)
    await trusted.post('/api/auth/second-factor', { code: app.code(), trustDevice: true })
    await changes.ask(thief, 'hal@example.net')
    const undo = await changes.undoToken('hal@example.com', /Two-step/)
    expect(undo).toMatch(/^factor-/)
    expect((await changes.undoEmail(undo)).body.code).toBe('invalid_link')
    const check = () => latchkey.browser().post('/api/auth/undo/check', { token: undo })
    expect((await check()).body).toMatchObject({
      kind: 'totp',
      username: 'hal',
      email: 'hal@example.com',
      changesBack: { email: null, username: null, language: null, totp: false },
      removes: { totp: true, recoveryCodes: false, passkeys: [], providers: [] },
    })
    const tries = await Promise.all([1, 2, 3].map(() => changes.undoFactor(undo)))
    expect(tries.map(({ status }) => status).sort()).toEqual([204, 400, 400])
    expect((await check()).body.code).toBe('invalid_link')

    expect([await me(thief), await me(trusted), await login('hal', goodPassword, trusted)]).toEqual([401, 401, 401])
    // The only thing that waits is the reset of the owner.
    expect(await waitingOf('hal')).toHaveLength(1)
    expect((await reset(await changes.resetToken('hal@example.com'))).status).toBe(204)
    expect(await login('hal', newPassword)).toBe(200)
    const kinds = await latchkey.sql.query(
      `select e.reason from events as e join users as u on u.id = e.user_id where u.username = 'hal' and kind = 'factor_undone'`,
    )
    expect(kinds).toEqual([{ reason: 'totp' }])
  })

  it('removes the passkey of the mail and every other new one, and puts back the address of the mail', async () => {
    const thief = await latchkey.signedUp('joe')
    const { passkey: kept } = await addPasskey(thief, latchkey.url, 'mine')
    await latchkey.advance(7 * days + minutes)
    await signInWith(thief, kept)
    const { passkey } = await addPasskey(thief, latchkey.url, 'stolen')
    const { passkey: second } = await addPasskey(thief, latchkey.url, 'second')
    await changes.change(thief, 'joe@example.net')
    expect((await signInWith(latchkey.browser(), passkey)).status).toBe(200)
    const undo = await changes.undoToken('joe@example.com', /stolen/)
    expect((await changes.undoFactor(undo)).status).toBe(204)
    expect([await me(thief), await login('joe')]).toEqual([401, 401])
    for (const added of [passkey, second]) expect((await signInWith(latchkey.browser(), added)).status).toBe(401)
    expect(await changes.emailOf('joe')).toBe('joe@example.com')
    expect((await reset(await changes.resetToken('joe@example.com'))).status).toBe(204)
    expect((await signInWith(latchkey.browser(), kept)).status).toBe(200)
    expect((await changes.undoFactor(undo)).body.code).toBe('invalid_link')
  })

  it.each([
    ['a session', 'ian', /Two-step/],
    ['a challenge', 'kay', /passkey/],
  ])('%s does not begin by a proof from before it', async (_, name, undone) => {
    const tab = await latchkey.signedUp(name)
    const { users, identityLinks, signIns } = latchkey.app.rooms
    const user = await users.findByLogin(name)
    if (!user) throw new Error(`${name} is missing`)
    await addPasskey(tab, latchkey.url)
    await addAuthenticator(tab, latchkey)
    await changes.undoFactor(await changes.undoToken(`${name}@example.com`, undone))
    const visit = {
      client: { ip: '192.0.2.1', userAgent: '' },
      trustedDevices: [],
      knownDevices: [],
      language: 'en' as const,
      earlierSession: undefined,
      facts: factsAtStart({}),
    }
    const identity = { provider: 'provider_a', subject: name } as const
    await latchkey.sql.transaction((sql) => identityLinks.linkProvider(sql, user.id, identity))
    const how = { identity, provenAt: undefined, isNew: false, isLinkWaiting: false }
    await expect(signIns.byProvider(user, how, visit)).rejects.toThrow('changed')
  })
})
