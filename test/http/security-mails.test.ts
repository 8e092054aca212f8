import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { days, minutes } from '../../src/lib/durations.js'
import { addAuthenticator } from '../support/authenticator.js'
import type { Browser } from '../support/client.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'

let latchkey: Latchkey
beforeAll(async () => {
  latchkey = await startLatchkey()
})
afterAll(() => latchkey?.stop())

const firefox = 'Mozilla/5.0 (Windows NT 10.0; rv:140.0) Gecko/20100101 Firefox/140.0'
const german = { 'accept-language': 'de-AT, en;q=0.5' }
const french = { 'accept-language': 'fr', 'user-agent': firefox, 'x-forwarded-for': '203.0.113.9' }
const origin = 'Firefox unter Windows. IP-Adresse: 203.0.113.9.'

const login = (
  username: string,
  tab = latchkey.browser(),
  headers: Record<string, string> = {},
  password = goodPassword,
) => tab.post('/login', { username, password }, { headers })

const actIn = (tab: Browser, path: string, body: object, headers: Record<string, string>) =>
  tab.send('POST', path, body, { csrf: true, headers })
const patch = (tab: Browser, changes: object) => tab.send('PATCH', '/api/auth/account', changes, { csrf: true })

const register = async (username: string, headers: Record<string, string>) => {
  const [tab, email] = [latchkey.browser(), `${username}@example.com`]
  await tab.post('/api/auth/register', { username, email, password: goodPassword }, { headers })
  const { text } = await latchkey.mailTo(email, /verify-email#token=/)
  return { tab, email, token: /#token=([\w-]+)/.exec(text)?.[1] }
}

const languageOf = async (tab: Browser) =>
  ((await tab.get('/api/auth/account')).body.user as { language: string }).language

const queued = async (name: string, kind: string) => {
  const rows = await latchkey.sql.query('select 1 from outgoing_mail where kind = $1 and recipient = $2', [
    kind,
    `${name}@example.com`,
  ])
  return rows.length
}

describe('the language of an account', () => {
  it('is that of the browser that registered, no matter who causes the mail', async () => {
    const { tab, email, token } = await register('anna', german)
    // The link is opened in a browser with another language.
    const opened = latchkey.browser()
    const verified = await opened.post('/api/auth/verify-email', { token, password: goodPassword }, { headers: french })
    expect([verified.status, await languageOf(opened)]).toEqual([200, 'de'])
    const thief = latchkey.browser()
    expect((await login('anna', thief, french)).status).toBe(200)
    expect((await latchkey.mailTo(email, /Neue Anmeldung/)).text).toContain(`Gerät: ${origin}`)
    expect(await languageOf(thief)).toBe('de')
    const change = { currentPassword: goodPassword, newPassword: 'Copper-Meadow-27-telescope' }
    expect((await actIn(thief, '/api/auth/change-password', change, french)).status).toBe(204)
    expect((await latchkey.mailTo(email, /Passwort.*geändert/)).text).toContain(origin)
    await tab.post('/reset-password', { email }, { headers: french })
    expect((await latchkey.mailTo(email, /reset-password#/)).text).toContain(origin)
  })

  it('is changed on the account page; warnings stay in the language before as long as it can be undone', async () => {
    const tab = await latchkey.signedUp('edda')
    expect(await languageOf(tab)).toBe('en')
    const change = (language: unknown) => patch(tab, { language })
    expect((await change('xx')).status).toBe(400)
    expect((await change('fr')).status).toBe(200)
    expect((await latchkey.mailTo('edda@example.com', /another language/)).text).toContain('are written in French')
    expect(await languageOf(tab)).toBe('fr')
    expect((await login('edda', latchkey.browser(), german)).status).toBe(200)
    await latchkey.mailTo('edda@example.com', /New sign-in/)
    await latchkey.sql.query(`update undos set expires_at = to_timestamp(0) where email = 'edda@example.com'`)
    expect((await login('edda', latchkey.browser(), german)).status).toBe(200)
    await latchkey.mailTo('edda@example.com', /Nouvelle connexion/)
    const exported = (await tab.get('/api/auth/export')).body.account as { language: string }
    expect([exported.language, await languageOf(tab)]).toEqual(['fr', 'fr'])
    const { events } = (await tab.get('/api/auth/events')).body as { events: { kind: string }[] }
    expect(events.map(({ kind }) => kind)).toContain('language_changed')
    expect((await change('de')).status).toBe(200)
    expect((await actIn(tab, '/api/auth/delete-account', { username: 'edda' }, german)).status).toBe(204)
    expect((await latchkey.mailTo('edda@example.com', /supprimé/)).html).toContain('<html lang="fr">')
  })

  it('is set by the next sign-in of an account that has none yet', async () => {
    await latchkey.signedUp('older')
    await latchkey.sql.query("update users set language = null where username = 'older'")
    const tab = latchkey.browser()
    expect((await login('older', tab, german)).status).toBe(200)
    await latchkey.mailTo('older@example.com', /Neue Anmeldung/)
    expect((await login('older', tab, french)).status).toBe(200)
    expect(await languageOf(tab)).toBe('de')
  })

  it('is not chosen by a stranger before the first sign-in', async () => {
    await latchkey.signedUp('added')
    await latchkey.sql.query("update users set language = null where username = 'added'")
    const stranger = latchkey.browser()
    await stranger.post('/reset-password', { email: 'added@example.com' }, { headers: french })
    const { text } = await latchkey.mailTo('added@example.com', /reset-password#token=/)
    const [, token] = /reset-password#token=([\w-]+)/.exec(text) ?? []
    const password = 'Copper-Meadow-27-telescope'
    expect(
      (await stranger.post('/api/auth/reset-password/confirm', { token, password }, { headers: french })).status,
    ).toBe(204)
    await latchkey.mailTo('added@example.com', /Your password for .* was reset/)
    expect(await latchkey.sql.query("select language from users where username = 'added'")).toEqual([
      { language: null },
    ])
  })

  it('is that of the owner in a mail that another user has caused', async () => {
    const { tab, email, token } = await register('olga', german)
    await tab.post('/api/auth/verify-email', { token })
    const other = await latchkey.signedUp('other')
    expect((await other.act('/api/auth/email', { email })).status).toBe(202)
    await latchkey.mailTo(email, /Diese Adresse/)
    expect((await actIn(other, '/api/auth/email', { email: 'free@example.com' }, german)).status).toBe(202)
    await latchkey.mailTo('free@example.com', /Confirm your new email/)
  })

  it('is that of the last mail too', async () => {
    const { tab, email, token } = await register('leaving', german)
    await tab.post('/api/auth/verify-email', { token })
    expect((await actIn(tab, '/api/auth/delete-account', { username: 'leaving' }, french)).status).toBe(204)
    expect((await latchkey.mailTo(email, /gelöscht/)).text).toContain(origin)
  })
})

describe('the owner of an account is told', () => {
  it('that an old token of a session was used', async () => {
    const tab = await latchkey.signedUp('robbed')
    const thief = tab.copy()
    for (const _ of [1, 2]) expect((await tab.post('/api/auth/refresh')).status).toBe(200)
    const headers = { 'user-agent': firefox, 'x-forwarded-for': '203.0.113.77' }
    expect((await thief.post('/api/auth/refresh', undefined, { headers })).status).toBe(401)
    expect((await latchkey.mailTo('robbed@example.com', /may have been copied/)).text).toContain('203.0.113.77')
    expect((await thief.post('/api/auth/refresh')).status).toBe(401)
    expect(await queued('robbed', 'session-stolen')).toBe(1)
  })

  it('that a browser needs no code any more', async () => {
    const app = await addAuthenticator(await latchkey.signedUp('trusting'), latchkey)
    const tab = latchkey.browser()
    const headers = { 'user-agent': firefox, 'x-forwarded-for': '203.0.113.78' }
    expect((await login('trusting', tab, headers)).status).toBe(202)
    const finish = { code: app.code(), trustDevice: true }
    expect((await tab.post('/api/auth/second-factor', finish, { headers })).status).toBe(200)
    expect((await latchkey.mailTo('trusting@example.com', /needs no code/)).text).toContain('203.0.113.78')
    expect((await login('trusting', tab)).status).toBe(200)
    expect(await queued('trusting', 'device-trusted')).toBe(1)
  })
})

describe('a right password whose second step is not finished', () => {
  /** What housekeeping does when the sign-ins that wait have expired. */
  const expire = async () => {
    await latchkey.advance(11 * minutes)
    await latchkey.sql.transaction((sql) => latchkey.app.rooms.unfinishedSignIns.purge(sql, 500))
  }
  const notices = (name: string) => queued(name, 'sign-in-unfinished')
  const elsewhere = { 'user-agent': firefox, 'x-forwarded-for': '203.0.113.79' }

  it('is told to the owner when it has expired, once a day or for each password, with who it was', async () => {
    await addAuthenticator(await latchkey.signedUp('known'), latchkey)
    expect((await login('known', latchkey.browser(), elsewhere)).status).toBe(202)
    await latchkey.sql.transaction((sql) => latchkey.app.rooms.unfinishedSignIns.purge(sql, 500))
    expect(await notices('known')).toBe(0)
    await expire()
    const { text } = await latchkey.mailTo('known@example.com', /was not finished/)
    expect(text).toContain('Firefox on Windows. IP address: 203.0.113.79.')
    for (const _ of [1, 2]) expect((await login('known', latchkey.browser(), elsewhere)).status).toBe(202)
    await expire()
    expect(await notices('known')).toBe(1)
    await latchkey.advance(1 * days)
    expect((await login('known', latchkey.browser(), elsewhere)).status).toBe(202)
    await expire()
    expect(await notices('known')).toBe(2)
    await latchkey.browser().post('/reset-password', { email: 'known@example.com' })
    const { text: reset } = await latchkey.mailTo('known@example.com', /reset-password#/)
    const [, token] = /#token=([\w-]+)/.exec(reset) ?? []
    const password = 'Copper-Meadow-27-telescope'
    const confirmed = await latchkey.browser().post('/api/auth/reset-password/confirm', { token, password })
    expect(confirmed.status).toBe(204)
    for (const _ of [1, 2]) {
      expect((await login('known', latchkey.browser(), elsewhere, password)).status).toBe(202)
      await expire()
      expect(await notices('known')).toBe(3)
    }
  })

  it('is not told if the same browser has signed in by another attempt, and is if another one has', async () => {
    const app = await addAuthenticator(await latchkey.signedUp('patient'), latchkey)
    const tab = latchkey.browser()
    expect((await login('patient', tab)).status).toBe(202)
    expect((await login('patient', tab)).status).toBe(202)
    expect((await tab.post('/api/auth/second-factor', { code: app.code() })).status).toBe(200)
    await expire()
    expect(await notices('patient')).toBe(0)
    expect((await login('patient', latchkey.browser(), elsewhere)).status).toBe(202)
    expect((await login('patient', tab)).status).toBe(202)
    expect((await tab.post('/api/auth/second-factor', { code: app.code() })).status).toBe(200)
    await expire()
    expect(await notices('patient')).toBe(1)
  })

  it('is not told twice: not after the mail about wrong codes', async () => {
    await addAuthenticator(await latchkey.signedUp('guessed'), latchkey)
    const tab = latchkey.browser()
    expect((await login('guessed', tab)).status).toBe(202)
    for (const _ of [1, 2, 3]) expect((await tab.post('/api/auth/second-factor', { code: '000000' })).status).toBe(401)
    expect(await queued('guessed', 'wrong-codes')).toBe(1)
    await expire()
    expect(await notices('guessed')).toBe(0)
  })
})

describe('what became of a mail', () => {
  it('is an event for operators with the user, and not among those that the user sees', async () => {
    const tab = await latchkey.signedUp('mailed')
    expect((await patch(tab, { username: 'mailed2' })).status).toBe(200)
    await latchkey.mailTo('mailed@example.com', /username.*was changed/)
    await tab.act('/api/auth/email', { email: 'mailed-new@example.com' })
    await latchkey.mailTo('mailed-new@example.com')
    const accepted = () =>
      latchkey.sql.query<{ reason: string }>(
        "select reason from events join users on users.id = user_id where kind = 'mail_accepted' and users.username = 'mailed2'",
      )
    await expect
      .poll(async () => (await accepted()).map(({ reason }) => reason).toSorted())
      .toEqual(['confirm-email', 'email-change-asked', 'username-changed'])
    const { events } = (await tab.get('/api/auth/events')).body as { events: { kind: string }[] }
    expect(events.filter(({ kind }) => kind.startsWith('mail_'))).toEqual([])
    // Whether the new address has an account shows in the kind of the mail.
    const exported = (await tab.get('/api/auth/export')).body.events as { kind: string; reason: string }[]
    const told = exported.filter(({ kind }) => kind === 'mail_accepted').map(({ reason }) => reason)
    expect(told.toSorted()).toEqual(['email-change-asked', 'username-changed'])
    const lines = latchkey.logLines.filter((line) => line.includes('mail_accepted'))
    expect(lines.length).toBeGreaterThan(0)
    expect(lines.join('')).not.toMatch(/@example\.com|token=/)
  })
})
