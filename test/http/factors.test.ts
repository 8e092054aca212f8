import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { days, minutes, seconds } from '../../src/lib/durations.js'
import { startApp } from '../../src/service/open-service.js'
import { addAuthenticator, createAuthenticator, replaceAuthenticator } from '../support/authenticator.js'
import { createBrowser } from '../support/client.js'
import { createEmailChanges } from '../support/email-changes.js'
import { goodPassword, type Latchkey, sharedParts, startLatchkey } from '../support/latchkey.js'
import { secretOf } from '../support/site/instance.js'
import { overtaken } from '../support/waits-for-lock.js'

const path = '/api/auth/second-factor'

describe('the owner of an account with two-step sign-in', () => {
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
  it('switches it off with its recovery codes; each change ends the other sessions, is mailed and recorded', async () => {
    const { tab, app } = await enrolled('switching')
    expect(app.begun.qr).toMatch(/^<svg .*<\/svg>$/s)
    expect(app.begun.uri).toContain(`secret=${app.secret}`)
    expect((await tab.act('/api/auth/totp')).body.code).toBe('totp_is_on')
    const other = await challenged('switching')
    await other.post(path, { code: app.code() })
    const waiting = await challenged('switching')
    const renewed = await tab.act('/api/auth/recovery-codes')
    expect((await waiting.get(path)).status).toBe(401)
    expect((renewed.body.recoveryCodes as string[]).length).toBe(10)
    expect((await (await challenged('switching')).post(path, { code: app.recoveryCodes[0] })).status).toBe(401)
    expect((await tab.remove('/api/auth/totp')).status).toBe(204)
    expect((await other.get('/api/auth/me')).status).toBe(401)
    expect((await tab.get('/api/auth/me')).status).toBe(200)
    expect((await login('switching')).status).toBe(200)
    expect((await tab.remove('/api/auth/totp')).body.code).toBe('totp_is_off')
    expect((await tab.act('/api/auth/recovery-codes')).body.code).toBe('totp_is_off')
    for (const subject of [/sign-in for .* is on/, /New recovery codes/, /sign-in for .* is off/])
      await latchkey.mailTo('switching@example.com', subject)
    const { body } = await tab.get('/api/auth/events')
    const kinds = (body.events as { kind: string }[]).map(({ kind }) => kind)
    expect(kinds).toEqual(
      expect.arrayContaining(['totp_added', 'recovery_codes_renewed', 'second_factor_failed', 'totp_removed']),
    )
  })

  it('sets up another app in one step: the old app works until then, and the recovery codes afterwards too', async () => {
    const { tab, app } = await enrolled('moving')
    const signIn = async (code: string | undefined) => (await (await challenged('moving')).post(path, { code })).status
    const begin = async (by = tab) => {
      const { body } = await by.act('/api/auth/totp/new')
      expect(body.qr).toMatch(/^<svg .*<\/svg>$/s)
      return createAuthenticator(String(body.secret), latchkey)
    }
    const confirm = (code: string) => tab.act('/api/auth/totp/new/confirm', { code })
    const abandoned = await begin()
    const other = await challenged('moving')
    expect((await other.post(path, { code: app.code() })).status).toBe(200)
    // Only the replacement that was begun last counts, and it belongs to the session that began it.
    const ofOther = await begin(other)
    for (const { code } of [abandoned, ofOther]) expect((await confirm(code())).body.code).toBe('no_totp_begun')
    const next = await begin()
    await latchkey.advance(30 * seconds)
    expect((await confirm(app.code())).body.code).toBe('wrong_second_factor')
    expect(await signIn(app.code())).toBe(200)
    const waiting = await challenged('moving')
    const code = next.code()
    const tries = await Promise.all([confirm(code), confirm(code)])
    expect(tries.map(({ body }) => body.code ?? 'done').toSorted()).toEqual(['done', 'no_totp_begun'])

    expect([(await other.get('/api/auth/me')).status, (await waiting.get(path)).status]).toEqual([401, 401])
    expect((await tab.get('/api/auth/me')).status).toBe(200)
    await latchkey.advance(30 * seconds)
    for (const used of [code, app.code(), abandoned.code()]) expect(await signIn(used)).toBe(401)
    expect([await signIn(next.code()), await signIn(app.recoveryCodes[0])]).toEqual([200, 200])
    await latchkey.mailTo('moving@example.com', /New authenticator app/)
    const { body } = await tab.get('/api/auth/events')
    expect((body.events as { kind: string }[]).map(({ kind }) => kind)).toContain('totp_replaced')

    // The replaced app was added just now itself, so an undo switches two-step sign-in off. The secret of an older app is kept for the
    // undo link, as long as two-step sign-in is on.
    const formerSecrets = () =>
      latchkey.sql.query(
        `select 1 from undos join users as u on u.id = user_id where u.username = 'moving' and former_secret is not null`,
      )
    expect(await formerSecrets()).toEqual([])
    await latchkey.sql.query(`delete from undos where user_id = (select id from users where username = 'moving')`)
    await replaceAuthenticator(tab, latchkey)
    expect(await formerSecrets()).toHaveLength(1)
    expect((await tab.remove('/api/auth/totp')).status).toBe(204)
    expect(await formerSecrets()).toEqual([])
    expect((await tab.act('/api/auth/totp/new')).body.code).toBe('totp_is_off')
    expect((await confirm(next.code())).body.code).toBe('totp_is_off')
  })

  it('takes the account back with the old app, instead of the apps that replaced it: the account keeps its factor', async () => {
    const { tab, app: ofOwner } = await enrolled('mia')
    const changes = createEmailChanges(latchkey)
    await latchkey.advance(7 * days + minutes)
    await login('mia', tab)
    await tab.post(path, { code: ofOwner.code() })
    const stolen = [await replaceAuthenticator(tab, latchkey), await replaceAuthenticator(tab, latchkey)]
    const codes = (await tab.act('/api/auth/recovery-codes')).body.recoveryCodes as string[]
    // The newest mail is about the second replacement.
    const token = await changes.undoToken('mia@example.com', /New authenticator app/)
    expect((await latchkey.browser().post('/api/auth/undo/check', { token })).body).toMatchObject({
      kind: 'totp_replaced',
      changesBack: { totp: true },
      removes: { totp: false, recoveryCodes: true },
      keeps: { totp: true },
    })
    expect((await changes.undoFactor(token)).status).toBe(204)

    expect((await tab.get('/api/auth/me')).status).toBe(401)
    const reset = { token: await changes.resetToken('mia@example.com'), password: 'amber-Meadow-27-kettle' }
    expect((await latchkey.browser().post('/api/auth/reset-password/confirm', reset)).status).toBe(204)
    await latchkey.advance(30 * seconds)
    const signIn = async (code: string | undefined) => {
      const browser = latchkey.browser()
      await browser.post('/login', { username: 'mia', password: reset.password })
      return (await browser.post(path, { code })).status
    }
    for (const code of [codes[0], ...stolen.map((app) => app.code())]) expect(await signIn(code)).toBe(401)
    expect(await signIn(ofOwner.code())).toBe(200)
    const undone = await latchkey.sql.query(
      `select e.reason, (select count(*) from undos where user_id = u.id) as undos
       from events as e join users as u on u.id = e.user_id where u.username = 'mia' and kind = 'factor_undone'`,
    )
    expect(undone).toEqual([{ reason: 'totp recovery_codes', undos: 0 }])
  })

  it('takes the app of the owner back also when the link of the first replacement has expired', async () => {
    const { tab, app: ofOwner } = await enrolled('late')
    const changes = createEmailChanges(latchkey)
    await latchkey.advance(7 * days + minutes)
    await login('late', tab)
    await tab.post(path, { code: ofOwner.code() })
    const stolen = await replaceAuthenticator(tab, latchkey)
    await latchkey.advance(6 * days)
    await login('late', tab)
    await tab.post(path, { code: stolen.code() })
    await replaceAuthenticator(tab, latchkey)
    await latchkey.advance(1.5 * days)
    const token = await changes.undoToken('late@example.com', /New authenticator app/)
    expect((await changes.undoFactor(token)).status).toBe(204)
    const reset = { token: await changes.resetToken('late@example.com'), password: 'amber-Meadow-27-kettle' }
    expect((await latchkey.browser().post('/api/auth/reset-password/confirm', reset)).status).toBe(204)
    const signIn = async (code: string) => {
      const browser = latchkey.browser()
      await browser.post('/login', { username: 'late', password: reset.password })
      return (await browser.post(path, { code })).status
    }
    expect([await signIn(stolen.code()), await signIn(ofOwner.code())]).toEqual([401, 200])
  })

  it('changes nothing that cannot be recorded', async () => {
    const { tab, app } = await enrolled('recorded')
    const kinds = `('totp_removed', 'recovery_codes_renewed')`
    await latchkey.sql.query(`alter table events add constraint refusing check (kind not in ${kinds}) not valid`)
    expect((await tab.act('/api/auth/recovery-codes')).status).toBe(500)
    expect((await tab.remove('/api/auth/totp')).status).toBe(500)
    await latchkey.sql.query('alter table events drop constraint refusing')
    const code = app.recoveryCodes[0]
    expect((await (await challenged('recorded')).post(path, { code })).status).toBe(200)
    expect((await tab.remove('/api/auth/totp')).status).toBe(204)
  })

  it('changes nothing when a reset ends the session first', async () => {
    const tab = await latchkey.signedUp('overtaken')
    const { body } = await tab.act('/api/auth/totp')
    const code = createAuthenticator(String(body.secret), latchkey).code()
    const factors = () => latchkey.sql.query('select user_id from totp_secrets')
    const before = await factors()
    const confirming = () => tab.act('/api/auth/totp/confirm', { code })
    const answer = await overtaken(latchkey, 'overtaken', confirming, (sql, id) =>
      sql.query('delete from sessions where user_id = $1', [id]),
    )
    expect(answer.body.code).toBe('not_authenticated')
    expect(await factors()).toEqual(before)
  })

  it('changes factors only in a fresh session, with a CSRF token, by the session that began', async () => {
    const tab = await latchkey.signedUp('fresh')
    expect((await tab.post('/api/auth/totp')).body.code).toBe('invalid_csrf_token')
    expect((await latchkey.browser().get('/api/auth/factors')).status).toBe(401)
    const begun = await tab.act('/api/auth/totp')
    const other = latchkey.browser()
    await login('fresh', other)
    expect((await other.act('/api/auth/totp/confirm', { code: '123456' })).body.code).toBe('no_totp_begun')
    await latchkey.advance(10 * minutes + 2 * seconds)
    expect(begun.status).toBe(200)
    expect((await tab.act('/api/auth/totp')).body.code).toBe('fresh_sign_in_required')
  })

  it('proves their identity again by a code, and not by the password alone', async () => {
    const { tab, app } = await enrolled('again')
    await latchkey.advance(10 * minutes + 2 * seconds)
    const refused = await tab.remove('/api/auth/totp')
    for (const step of ['new', 'new/confirm'])
      expect((await tab.act(`/api/auth/totp/${step}`, { code: app.code() })).body).toEqual(refused.body)
    expect([refused.status, refused.body.methods]).toEqual([403, ['totp', 'recovery_code']])
    const failedSignIn = () => latchkey.browser().post('/login', { username: 'nobody', password: 'x' })
    const triesLeft = async () => Number((await failedSignIn()).headers.get('ratelimit-remaining'))
    const before = await triesLeft()
    expect((await tab.act('/api/auth/step-up', { password: goodPassword })).body.code).toBe('fresh_sign_in_required')
    // A password that is not compared is no failed sign-in.
    expect(await triesLeft()).toBe(before - 1)
    expect((await tab.act('/api/auth/step-up', { code: app.code(-90 * seconds) })).body.code).toBe(
      'wrong_second_factor',
    )
    const passwords = { currentPassword: goodPassword, newPassword: 'copper-Lagoon-47-meadow' }
    expect((await tab.act('/api/auth/change-password', passwords)).body).toEqual(refused.body)
    const code = app.code()
    expect((await tab.act('/api/auth/step-up', { code })).status).toBe(200)
    expect((await (await challenged('again')).post(path, { code })).status).toBe(401)
    expect((await tab.get('/api/auth/verify?factors=2')).status).toBe(204)
    expect((await tab.act('/api/auth/change-password', passwords)).status).toBe(204)
    expect((await tab.remove('/api/auth/totp')).status).toBe(204)
  })

  it('goes on with its codes while the sealing key is changed, and no instance starts without the key', async () => {
    const { tab } = await enrolled('sealed')
    const app = await replaceAuthenticator(tab, latchkey)
    const { config, clock } = latchkey
    const [older = '', newer] = [latchkey.app.platform.secrets[0], secretOf('n')]
    const sealed = () =>
      latchkey.sql.query(
        `select secret from totp_secrets
         union all select former_secret from undos where former_secret is not null order by secret`,
      )
    const startWith = async (...sealingKey: string[]) =>
      startApp(
        { ...config, port: 0, sealingKey },
        { clock, log: latchkey.app.log, onFatal: () => undefined, ...(await sharedParts()) },
      )
    const signInAt = async ({ port }: { port: number }) => {
      clock.advance(30 * seconds)
      const tab = createBrowser(`http://localhost:${port}`)
      const headers = { origin: latchkey.url }
      await tab.post('/login', { username: 'sealed', password: goodPassword }, { headers })
      return (await tab.post(path, { code: app.code() }, { headers })).status
    }
    const running = [latchkey.app]
    const before = await sealed()
    // The steps of docs/operating.md. The instance of the step before serves until the next one does.
    for (const keys of [[older, newer], [newer, older], [newer]]) {
      running.push(await startWith(...keys))
      for (const instance of running.slice(-2)) expect(await signInAt(instance.config)).toBe(200)
    }
    const after = await sealed()
    expect(after).not.toEqual(before)
    for (const keys of [[older], [secretOf('f')]]) {
      const failed = startWith(...keys).then(async (started) => {
        running.push(started)
        await started.prepared
      })
      await expect(failed).rejects.toThrow('cannot be opened: the key that sealed them is missing')
    }
    expect(await sealed()).toEqual(after)
    // The other tests of this file go on with the first instance.
    running.push(await startWith(older, newer))
    for (const instance of running.slice(1)) await instance.close()
  })
})
