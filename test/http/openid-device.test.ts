import * as openid from 'openid-client'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { openRoomsForCommand } from '../../src/commands/open-for-commands.js'
import { operatorClient } from '../../src/http/request-origin.js'
import { minutes, seconds } from '../../src/lib/durations.js'
import { addApplication, applicationChangesOf } from '../support/applications.js'
import { addAuthenticator } from '../support/authenticator.js'
import { basic, postForm, tokensApart } from '../support/authorizations.js'
import type { Browser } from '../support/client.js'
import { createEmailChanges } from '../support/email-changes.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { addPasskey, signInWith } from '../support/passkey.js'
import { latchkey as run } from '../support/terminal.js'
import { noticesOf } from '../support/used-applications.js'

const JWT_SECRET = 'c6M0xkq2Vw9nYb4RtL8sHd3PzJ7gFa5EuN1oKi0WvTqXyBmCrGhSlDjZfUeApIxO'
const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code'
const native = {
  kind: 'native',
  home: 'tv.example:/',
  redirectAddresses: ['tv.example:/cb'],
  deviceFlow: true,
} as const

let latchkey: Latchkey
let second: Latchkey
type Added = Awaited<ReturnType<typeof addApplication>>
let tv: Added
let tab: Browser
beforeAll(async () => {
  latchkey = await startLatchkey({ settings: { JWT_SECRET } })
  const { databaseUrl, redisUrl = '', redisPrefix, publicUrl } = latchkey.config
  const shared = { DATABASE_URL: databaseUrl, REDIS_URL: redisUrl, REDIS_PREFIX: redisPrefix, PUBLIC_URL: publicUrl }
  second = await startLatchkey({ settings: { JWT_SECRET, ...shared }, clock: latchkey.clock })
  await latchkey.app.rooms.groups.add('staff', operatorClient('root'))
  tv = await addApplication(latchkey, {
    ...native,
    name: 'Television',
    backchannelLogout: 'https://tv.example.com/logout',
  })
  await latchkey.signedUp('ada')
})
// Time passes in some of these tests.
beforeEach(async () => {
  tab = latchkey.browser()
  await tab.post('/login', { username: 'ada', password: goodPassword })
})
afterAll(async () => {
  await second.stop()
  await latchkey.stop()
})

const secondUrl = () => `http://127.0.0.1:${second.config.port}`

type Codes = Record<'device_code' | 'user_code' | 'verification_uri' | 'verification_uri_complete', string>
const begin = async (application: Added = tv, form: Record<string, string> = { scope: 'openid profile groups' }) => {
  const sent = { client_id: application.id, ...form }
  const { status, body } = await postForm(latchkey.url, '/api/auth/device', sent, { 'x-forwarded-for': '198.51.100.7' })
  if (status !== 200) throw new Error(`A device was refused: ${JSON.stringify(body)}`)
  return body as Codes
}
const poll = ({ device_code }: Pick<Codes, 'device_code'>, application: Added = tv, url = latchkey.url) =>
  postForm(url, '/api/auth/token', { grant_type: deviceGrant, device_code, client_id: application.id })
const errorOf = async (...polled: Parameters<typeof poll>) => (await poll(...polled)).body.error ?? 'tokens'
const refresh = (refresh_token = '', application: Added = tv) =>
  postForm(latchkey.url, '/api/auth/token', { grant_type: 'refresh_token', refresh_token, client_id: application.id })

const ask = (code: string, by = tab) => by.post('/api/auth/device/question', { code }, { csrf: true })
const answer = async (code: string, given: 'approve' | 'deny', by = tab) => {
  const { body } = await ask(code, by)
  const { user } = body as { user?: { id: string } }
  return by.post('/api/auth/device/answer', { code, user: user?.id ?? '', answer: given }, { csrf: true })
}
const approved = async (application: Added = tv, by = tab) => {
  const codes = await begin(application)
  expect((await answer(codes.user_code, 'approve', by)).body).toMatchObject({ next: 'approved' })
  return codes
}
const sessionsOf = async (by = tab) => (await by.get('/api/auth/sessions')).body.sessions as Record<string, unknown>[]
const ofDevices = async (by = tab) => (await sessionsOf(by)).filter(({ application }) => application !== null)
const age = (milliseconds: number) => latchkey.advance(milliseconds)

describe('a device', () => {
  it('signs in as openid-client 6 does it, renews its tokens and signs out', async () => {
    const config = await openid.discovery(new URL(`${latchkey.url}/api/auth`), tv.id, undefined, openid.None(), {
      execute: [openid.allowInsecureRequests],
    })
    expect(config.serverMetadata().grant_types_supported).toContain(deviceGrant)
    const started = await openid.initiateDeviceAuthorization(config, { scope: 'openid profile' })
    expect(started).toMatchObject({ expires_in: 600, interval: 5, verification_uri: `${latchkey.url}/login#device` })
    expect(started.user_code).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/)
    expect(started.verification_uri_complete).toBe(`${latchkey.url}/login#device=${started.user_code}`)
    await answer(started.user_code.toLowerCase().replace('-', ' '), 'approve')
    const tokens = await openid.pollDeviceAuthorizationGrant(config, { ...started, interval: 0.01 })
    const claims = tokens.claims()
    expect(claims).toMatchObject({ aud: tv.id, preferred_username: 'ada' })
    const user = await openid.fetchUserInfo(config, tokens.access_token, claims?.sub ?? '')
    expect(user.preferred_username).toBe('ada')
    const renewed = await openid.refreshTokenGrant(config, tokens.refresh_token ?? '')
    expect(renewed.claims()?.sid).toBe(claims?.sid)
    expect((await sessionsOf()).map(({ id }) => id)).toContain(claims?.sid)
    await openid.tokenRevocation(config, renewed.refresh_token ?? '')
    expect((await sessionsOf()).map(({ id }) => id)).not.toContain(claims?.sid)
  })

  it('is told in the words of the standard what it waits for', async () => {
    const codes = await begin()
    expect(await errorOf(codes)).toBe('authorization_pending')
    await answer(codes.user_code, 'deny')
    expect(await errorOf(codes)).toBe('access_denied')
    const late = await begin()
    await age(10 * minutes)
    expect(await errorOf(late)).toBe('expired_token')
    expect((await ask(late.user_code)).status).toBe(404)
    expect(await errorOf({ device_code: 'x'.repeat(43) })).toBe('invalid_grant')
  })

  it('that asks too often is slowed down by five seconds each time, at two instances alike', async () => {
    const codes = await begin()
    expect(await errorOf(codes)).toBe('authorization_pending')
    expect(await errorOf(codes, tv, secondUrl())).toBe('slow_down')
    await age(6 * seconds)
    expect(await errorOf(codes)).toBe('slow_down')
    await age(14 * seconds)
    expect(await errorOf(codes, tv, secondUrl())).toBe('slow_down')
    await age(20 * seconds)
    expect(await errorOf(codes)).toBe('authorization_pending')
    await answer(codes.user_code, 'approve')
    expect(await errorOf(codes)).toBe('tokens')
  })

  it('gets its tokens once, asked 50 times at once at two instances, and loses them when its code comes again later', async () => {
    const browser = await latchkey.signedUp('watcher')
    const codes = await approved(tv, browser)
    const urls = Array.from({ length: 50 }, (_, at) => (at % 2 === 0 ? latchkey.url : secondUrl()))
    const answers = await Promise.all(urls.map((url) => poll(codes, tv, url)))
    const [tokens, ...more] = answers.filter(({ status }) => status === 200)
    expect(more).toEqual([])
    expect(answers.filter(({ body }) => body.error === 'invalid_grant')).toHaveLength(49)
    const renewed = await refresh(tokens?.body.refresh_token)
    expect(renewed.status).toBe(200)
    await age(11 * seconds)
    expect(await errorOf(codes)).toBe('invalid_grant')
    expect((await refresh(renewed.body.refresh_token)).body.error).toBe('invalid_grant')
    expect(await ofDevices(browser)).toEqual([])
  })

  it('has a session that counts among the hundred of its user', async () => {
    const owner = await latchkey.signedUp('crowded')
    const codes = await approved(tv, owner)
    await latchkey.sql.query(
      `insert into sessions
       select (jsonb_populate_record(r, jsonb_build_object('id', gen_random_uuid(), 'last_used_at', r.last_used_at + interval '1 second'))).*
       from sessions as r, generate_series(1, 99) where user_id = (select id from users where username = 'crowded')`,
    )
    expect(await errorOf(codes)).toBe('tokens')
    expect((await owner.get('/api/auth/me')).status).toBe(401)
    const reasons = await latchkey.sql.query<{ reason: string }>(
      `select reason from events where kind = 'session_ended' and user_id = (select id from users where username = 'crowded')`,
    )
    expect(reasons).toEqual([{ reason: 'too_many_sessions' }])
  })

  it('has a session of its own, which goes on when the browser signs out and ends by itself', async () => {
    const browser = await latchkey.signedUp('grace')
    const codes = [await approved(tv, browser), await approved(tv, browser)] as const
    const mails = latchkey.mails().length
    const first = await poll(codes[0])
    const other = await poll(codes[1])
    await expect.poll(() => latchkey.mails().length).toBe(mails + 2)
    expect((await ofDevices(browser)).map(({ application }) => application)).toEqual(['Television', 'Television'])
    const { sid } = JSON.parse(Buffer.from(first.body.id_token?.split('.')[1] ?? '', 'base64url').toString())
    await browser.send('DELETE', `/api/auth/sessions/${sid}`, undefined, { csrf: true })
    expect((await refresh(first.body.refresh_token)).body.error).toBe('invalid_grant')
    expect((await noticesOf(latchkey.sql, tv.id)).map((notice) => notice.sid)).toContain(sid)
    await browser.post('/api/auth/logout', undefined, { csrf: true })
    const renewed = await refresh(other.body.refresh_token)
    expect(renewed.status).toBe(200)
    const again = latchkey.browser()
    await again.post('/login', { username: 'grace', password: goodPassword })
    expect(await ofDevices(again)).toHaveLength(1)
    await again.send('DELETE', `/api/auth/applications/${tv.id}`, undefined, { csrf: true })
    expect(await ofDevices(again)).toEqual([])
    expect((await refresh(renewed.body.refresh_token)).status).toBe(400)
  })
})

it('the session of a device names its application to operators and in the export', async () => {
  expect(await errorOf(await approved())).toBe('tokens')
  const store = { openRooms: (role: 'service role' | 'table owner') => openRoomsForCommand(latchkey.config, role) }
  const listed = (await run(store, ['user', 'sessions', 'list', 'ada', '--json'])).out.trim().split('\n')
  const exported = (await tab.get('/api/auth/export')).body as { sessions: object[] }
  for (const sessions of [listed.map((line) => JSON.parse(line)), exported.sessions]) {
    expect(sessions).toContainEqual(expect.objectContaining({ application: 'Television', administers: false }))
    expect(sessions).toContainEqual(expect.objectContaining({ application: null }))
  }
})

describe('nobody but its own application', () => {
  it.each<[string, Parameters<typeof addApplication>[1], string]>([
    [
      'a page in the browser',
      { kind: 'browser', redirectAddresses: ['https://spa.example.org/'] },
      'Only a client of the kind native can have the device flow',
    ],
    [
      'a native one for which nobody has switched it on',
      { ...native, deviceFlow: false },
      'The device flow is off for this client. An operator switches it on: latchkey application change NAME --device',
    ],
  ])('can use the flow: not %s', async (name, given, description) => {
    const other = await addApplication(latchkey, { name, ...given })
    const asked = await postForm(latchkey.url, '/api/auth/device', { client_id: other.id, scope: 'openid' })
    expect([asked.status, asked.body]).toEqual([400, { error: 'unauthorized_client', error_description: description }])
    expect(await errorOf(await begin(), other)).toBe('unauthorized_client')
    const { error_description } = (
      await postForm(latchkey.url, '/api/auth/token', {
        grant_type: deviceGrant,
        device_code: 'x',
        client_id: other.id,
      })
    ).body
    expect(error_description).toBe(description)
  })

  it('can use the flow once it was switched off, neither with a new code nor with one that waits', async () => {
    const lamp = await addApplication(latchkey, { ...native, name: 'Lamp' })
    const waiting = await postForm(latchkey.url, '/api/auth/device', { client_id: lamp.id, scope: 'openid' })
    await applicationChangesOf(latchkey).change(lamp.id, { deviceFlow: false }, operatorClient('root'))
    const asked = await tab.post('/api/auth/device/question', { code: waiting.body.user_code }, { csrf: true })
    expect(asked.body.code).toBe('unknown_device_code')
    expect(await errorOf({ device_code: waiting.body.device_code ?? '' }, lamp)).toBe('unauthorized_client')
  })

  it('can use the flow: not one with a secret, nor one that sends one', async () => {
    const web = await addApplication(latchkey, { name: 'Web' })
    const form = { scope: 'openid' }
    const asked = await postForm(latchkey.url, '/api/auth/device', form, basic(web.id, web.secret))
    expect([asked.status, asked.body.error]).toEqual([400, 'unauthorized_client'])
    const posing = await postForm(latchkey.url, '/api/auth/device', { ...form, client_id: tv.id, client_secret: 'x' })
    expect([posing.status, posing.body.error]).toEqual([401, 'invalid_client'])
    const nobody = await postForm(latchkey.url, '/api/auth/device', form)
    expect([nobody.status, nobody.body.error]).toEqual([401, 'invalid_client'])
  })

  it('can redeem its device code, and its user code is no device code', async () => {
    const radio = await addApplication(latchkey, { ...native, name: 'Radio' })
    const codes = await approved()
    expect(await errorOf(codes, radio)).toBe('invalid_grant')
    expect(await errorOf({ device_code: codes.user_code })).toBe('invalid_grant')
    expect(await errorOf(codes)).toBe('tokens')
  })

  it('asks without the scope openid', async () => {
    const asked = await postForm(latchkey.url, '/api/auth/device', { client_id: tv.id, scope: 'profile' })
    expect(asked.body.error).toBe('invalid_scope')
    expect((await begin(tv, {})).user_code).toEqual(expect.any(String))
  })
})

describe('the user', () => {
  it('is shown which application asks, from where, when, for what, and the code to compare', async () => {
    const codes = await begin()
    const { body } = await ask(codes.user_code)
    expect(body).toMatchObject({
      next: 'approve',
      code: codes.user_code,
      application: { name: 'Television' },
      user: { username: 'ada' },
      scopes: ['openid', 'profile', 'groups'],
      from: { ip: '198.51.100.7', sameNetwork: false },
    })
  })

  it('answers once: a second approval or denial is refused, whoever it is from', async () => {
    const codes = await approved()
    const other = await latchkey.signedUp('other')
    for (const given of ['approve', 'deny'] as const)
      expect((await answer(codes.user_code, given, other)).status).toBe(404)
    expect((await answer(codes.user_code, 'approve')).body.next).toBe('approved')
    const { body } = await poll(codes)
    expect((await answer(codes.user_code, 'deny')).status).toBe(404)
    expect(JSON.parse(Buffer.from(body.id_token?.split('.')[1] ?? '', 'base64url').toString())).toMatchObject({
      preferred_username: 'ada',
    })
    expect((await answer(codes.user_code, 'approve')).status).toBe(404)
    const contested = await begin()
    const users = [tab, other, tab, other]
    const answers = await Promise.all(users.map((by) => answer(contested.user_code, 'approve', by)))
    // Whoever was first may be told twice that they have approved.
    expect(new Set(users.filter((_, index) => answers[index]?.status === 200)).size).toBe(1)
  })

  it('takes an approval back until the device has its tokens', async () => {
    const codes = await approved()
    expect((await answer(codes.user_code, 'deny')).body.next).toBe('denied')
    expect(await errorOf(codes)).toBe('access_denied')
    expect((await answer(codes.user_code, 'approve')).status).toBe(404)
  })

  it('must have proven a short time ago who they are', async () => {
    const codes = await begin()
    const browser = await latchkey.signedUp('stale')
    await age(5 * minutes)
    await browser.post('/api/auth/refresh', undefined, { csrf: true })
    await latchkey.sql.query(
      `update sessions set authenticated_at = authenticated_at - interval '1 day', proof_moment = proof_moment - interval '1 day'
       where user_id = (select id from users where username = 'stale')`,
    )
    const refused = await answer(codes.user_code, 'approve', browser)
    expect([refused.status, refused.body.code]).toEqual([403, 'fresh_sign_in_required'])
    expect(await errorOf(codes)).toBe('authorization_pending')
    await browser.post('/api/auth/step-up', { method: 'password', password: goodPassword }, { csrf: true })
    expect((await answer(codes.user_code, 'approve', browser)).body.next).toBe('approved')
    expect(await errorOf(codes)).toBe('tokens')
  })

  it('approves nothing by another site, without the CSRF token, or for a user whom the page has not shown', async () => {
    const codes = await begin()
    const { user } = (await ask(codes.user_code)).body as { user: { id: string } }
    const sent = { code: codes.user_code, user: user.id, answer: 'approve' }
    const path = '/api/auth/device/answer'
    expect((await tab.post(path, sent)).body.code).toBe('invalid_csrf_token')
    const elsewhere = { origin: 'https://evil.example.org', 'sec-fetch-site': 'cross-site' }
    expect((await tab.post(path, sent, { csrf: true, headers: elsewhere })).body.code).toBe('cross_site')
    expect((await latchkey.browser().post(path, sent)).status).toBe(401)
    const other = await latchkey.signedUp('shown')
    expect((await other.post(path, sent, { csrf: true })).body.next).toBe('approve')
    const page = await fetch(`${latchkey.url}/api/auth/device`)
    expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
    expect(await errorOf(codes)).toBe('authorization_pending')
  })

  it.each<[string, (username: string, browser: Browser) => Promise<unknown>]>([
    [
      'was disabled',
      (username) => latchkey.sql.query('update users set disabled_at = now() where username = $1', [username]),
    ],
    ['has signed out', (_, browser) => browser.post('/api/auth/logout', undefined, { csrf: true })],
    [
      'has left the group',
      (username) => latchkey.sql.query("update users set groups = '{}' where username = $1", [username]),
    ],
    [
      'has withdrawn the consent',
      (username) =>
        latchkey.sql.query('delete from consents where user_id = (select id from users where username = $1)', [
          username,
        ]),
    ],
  ])('who %s before the device asks lets nobody in', async (what, change) => {
    const username = what.replaceAll(' ', '-')
    const browser = await latchkey.signedUp(username)
    await latchkey.sql.query("update users set groups = '{staff}' where username = $1", [username])
    const given = { ...native, name: what, access: 'groups', groups: ['staff'] } as const
    const application = await addApplication(latchkey, given)
    const codes = await approved(application, browser)
    await change(username, browser)
    expect(await errorOf(codes, application)).toBe('invalid_grant')
    const used = 'select 1 from application_sessions where application_id = $1'
    expect(await latchkey.sql.query(used, [application.id])).toEqual([])
  })

  it.each<[string, (browser: Browser) => Promise<unknown>]>([
    [
      'the password',
      (browser) => {
        const passwords = { currentPassword: goodPassword, newPassword: `${goodPassword}-2` }
        return browser.act('/api/auth/change-password', passwords)
      },
    ],
    ['the email', (browser) => createEmailChanges(latchkey).change(browser, 'changed@example.com')],
    ['the authenticator app', (browser) => browser.remove('/api/auth/totp')],
  ])('who changes %s before the device asks lets nobody in, although the session goes on', async (what, change) => {
    const browser = await latchkey.signedUp(`changes-${what.split(' ').at(-1)}`)
    const app = await addAuthenticator(browser, latchkey)
    await browser.act('/api/auth/step-up', { method: 'totp', code: app.code() })
    const codes = await approved(tv, browser)
    await change(browser)
    expect((await browser.act('/api/auth/refresh')).status).toBe(200)
    expect(await errorOf(codes)).toBe('access_denied')
    expect(await ofDevices(browser)).toEqual([])
  })

  it('needs what the application demands: its group, and two factors', async () => {
    const staff = { ...native, access: 'groups', groups: ['staff'] } as const
    const closed = await begin(await addApplication(latchkey, { ...staff, name: 'Closed' }))
    expect((await ask(closed.user_code)).body.next).toBe('no_access')
    expect((await answer(closed.user_code, 'approve')).body.next).toBe('no_access')
    const strict = await addApplication(latchkey, { ...native, name: 'Strict', factors: 2 })
    const codes = await begin(strict)
    expect((await answer(codes.user_code, 'approve')).body.next).toBe('enrol')
    expect(await errorOf(codes, strict)).toBe('authorization_pending')
    const later = await approved()
    await applicationChangesOf(latchkey).change(tv.id, { factors: 2 }, operatorClient('root'))
    expect(await errorOf(later)).toBe('invalid_grant')
    await applicationChangesOf(latchkey).change(tv.id, { factors: 1 }, operatorClient('root'))
  })

  it('signs in again if the passkey of this session was removed, because a code alone is one factor', async () => {
    const { passkey, added } = await addPasskey(await latchkey.signedUp('passkey-removed'), latchkey.url)
    const browser = latchkey.browser()
    await signInWith(browser, passkey)
    await addAuthenticator(browser, latchkey)
    expect((await browser.remove(`/api/auth/passkeys/${added.id}`)).status).toBe(204)
    expect((await ask((await begin()).user_code, browser)).body.next).toBe('sign_in')
  })
})

describe('a code that is guessed', () => {
  it('is counted before it is compared, by user and by network, and a right one is not', async () => {
    const guesser = await latchkey.signedUp('guesser')
    const from = { address: '203.0.113.9' }
    const guess = (code: string, by = guesser) =>
      by.post('/api/auth/device/question', { code }, { csrf: true, ...from })
    const codes = await begin()
    for (let times = 0; times < 12; times += 1) expect((await guess(codes.user_code)).status).toBe(200)
    for (let times = 0; times < 10; times += 1) expect((await guess('BCDF-GHJK')).status).toBe(404)
    expect((await guess(codes.user_code)).status).toBe(429)
    for (const name of ['guesser2', 'guesser3']) {
      const another = await latchkey.signedUp(name)
      for (let times = 0; times < 10; times += 1) expect((await guess('not a code', another)).status).toBe(404)
    }
    expect((await guess(codes.user_code, await latchkey.signedUp('guesser4'))).status).toBe(429)
    expect((await ask(codes.user_code)).status).toBe(200)
  })

  it('comes from few requests: a network that asks for too many codes has to wait', async () => {
    const form = { client_id: tv.id, scope: 'openid' }
    const send = () => postForm(latchkey.url, '/api/auth/device', form, { 'x-forwarded-for': '203.0.113.10' })
    const answers = await Promise.all(Array.from({ length: 101 }, send))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(100)
    expect(answers.find(({ status }) => status === 429)?.body.error).toBe('temporarily_unavailable')
  })

  it('is stored as a hash, as that of the device is', async () => {
    const codes = await begin()
    const rows = JSON.stringify(await latchkey.sql.query('select * from device_requests'))
    for (const secret of [codes.device_code, codes.user_code, codes.user_code.replace('-', '')])
      expect(rows).not.toContain(secret)
    expect(latchkey.logLines.join()).not.toContain(codes.device_code)
  })
})

it('a device stays signed in for as long as it is used, and no longer than any session', async () => {
  const browser = await latchkey.signedUp('viewer')
  let { body } = await poll(await approved(tv, browser))
  expect(await tokensApart(latchkey, 'viewer')).toEqual([0])
  for (const days of [20, 20]) {
    await age(days * 24 * 60 * minutes)
    const renewed = await refresh(body.refresh_token)
    expect(renewed.status).toBe(200)
    // The use has moved the end of the session, and that of the tokens with it.
    expect(await tokensApart(latchkey, 'viewer')).toEqual([0])
    body = renewed.body
  }
  await age(31 * 24 * 60 * minutes)
  expect((await refresh(body.refresh_token)).body.error).toBe('invalid_grant')
})
