import { SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hours } from '../../src/lib/durations.js'
import { type OpenidRoom, openOpenid } from '../../src/openid/open-openid.js'
import type { Browser } from '../support/client.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'
import { until } from '../support/until.js'
import { addApplication, noticesOf, sessionOf, useApplication } from '../support/used-applications.js'

const path = '/api/auth/end-session'
const address = 'https://app.example/signed-out'
const foreign = 'https://other.example/signed-out'

let latchkey: Latchkey
let openid: OpenidRoom
let application: string
let other: string
beforeAll(async () => {
  latchkey = await startLatchkey({ settings: { ALLOWED_ORIGINS: 'https://app.example' } })
  expect((await latchkey.browser().get(path)).status).toBe(404)
  application = await addApplication(latchkey.sql, {
    name: 'Wiki',
    logoutAddresses: [address, `${address}?from=latchkey`],
  })
  other = await addApplication(latchkey.sql, { name: 'Other', logoutAddresses: [foreign] })
  const { config, platform, rooms } = latchkey.app
  openid = openOpenid(config, platform, rooms)
  await latchkey.advance(2_000)
})
afterAll(() => latchkey.stop())

/** An ID token of this browser's session for an application. */
const hintOf = async (tab: Browser, to = application) => {
  const { sid, userId } = sessionOf(tab)
  const found = await openid.applications.find(to)
  if (!found) throw new Error('There is no such application')
  return openid.idTokens.issue({
    client: found,
    subject: {
      id: userId,
      username: 'someone',
      name: null,
      email: 'a@example.com',
      emailProven: true,
      groups: [],
      fields: {},
    },
    sid,
    content: { authTime: 1, methods: ['pwd'], secondFactor: false, scopes: ['openid'] },
    accessToken: 'access',
  })
}

type Sent = Record<string, string>
const ask = (tab: Browser, parameters: Sent | string, more: object = {}) =>
  tab.act(`${path}/answer`, { parameters: new URLSearchParams(parameters).toString(), ...more })
const isSignedIn = async (tab: Browser) => (await tab.get('/api/auth/me')).status === 200

let users = 0
const newUser = () => {
  users += 1
  return latchkey.signedUp(`leaver${users}`)
}

describe('the page', () => {
  it('is answered to every site, reads no cookie and ends nothing', async () => {
    const tab = await newUser()
    const hint = await hintOf(tab)
    const crossSite = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' }
    const got = await fetch(`${latchkey.url}${path}?id_token_hint=${hint}`, { headers: crossSite })
    expect([got.status, got.headers.get('content-type'), got.headers.get('set-cookie')]).toEqual([
      200,
      'text/html; charset=utf-8',
      null,
    ])
    const posted = await fetch(`${latchkey.url}${path}`, {
      method: 'POST',
      headers: { ...crossSite, origin: 'https://app.example' },
      body: new URLSearchParams({ id_token_hint: hint, state: '</script><script>alert(1)' }),
    })
    const html = await posted.text()
    expect(posted.status).toBe(200)
    expect(html).toContain('id_token_hint=')
    expect(html).not.toContain('<script>alert')
    expect(await isSignedIn(tab)).toBe(true)
    const french = await fetch(`${latchkey.url}${path}?ui_locales=fr-CA%20en`)
    expect(await french.text()).toContain('<html lang="fr">')
  })

  it('has an API for our own origin only, with a CSRF token', async () => {
    const tab = await newUser()
    const body = { parameters: '', confirmed: true }
    expect((await tab.post(`${path}/answer`, body)).body.code).toBe('invalid_csrf_token')
    const headers = { origin: 'https://app.example', 'sec-fetch-site': 'cross-site' }
    expect((await tab.post(`${path}/answer`, body, { csrf: true, headers })).body.code).toBe('cross_site')
    expect(await isSignedIn(tab)).toBe(true)
  })
})

describe('an ID token of this very session', () => {
  it('ends it, although it has expired, and returns with the state; every application is told', async () => {
    const tab = await newUser()
    const used = await useApplication(latchkey.sql, tab, other)
    const hint = await hintOf(tab)
    await latchkey.advance(1 * hours)
    await tab.post('/api/auth/refresh')
    const state = 'a b&c=%'
    const sent = { id_token_hint: hint, post_logout_redirect_uri: `${address}?from=latchkey`, state }
    const { status, body, headers } = await ask(tab, sent)
    expect([status, body]).toEqual([
      200,
      {
        next: 'done',
        application: { name: 'Wiki', home: 'https://app.example/' },
        location: `${address}?from=latchkey&state=a%20b%26c%3D%25`,
      },
    ])
    expect(headers.getSetCookie().join()).toContain('access_token=;')
    expect(await isSignedIn(tab)).toBe(false)
    expect(await noticesOf(latchkey.sql, other)).toContainEqual(used)
    expect((await ask(tab, sent)).body).toMatchObject({ next: 'done', location: expect.stringContaining(address) })
  })

  it('ends it also when only the refresh cookie is left, and with no address it does not return', async () => {
    const tab = await newUser()
    const hint = await hintOf(tab)
    tab.jar.delete('access_token')
    const { body } = await ask(tab, { id_token_hint: hint, client_id: application, logout_hint: 'someone' })
    expect(body).toEqual({ next: 'done', application: { name: 'Wiki', home: 'https://app.example/' } })
    expect((await tab.post('/api/auth/refresh')).status).toBe(401)
  })
})

describe('anything less', () => {
  const forged = (claims: object, alg = 'HS256') =>
    new SignJWT({ iss: `${latchkey.url}/api/auth`, aud: application, ...claims })
      .setProtectedHeader({ alg, typ: 'JWT', kid: 'unknown' })
      .sign(Buffer.alloc(64, 1))
  const unsigned = (claims: object) =>
    `${[{ alg: 'none', typ: 'JWT' }, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.')}.`

  it('asks the user, who is signed out only by their own word', async () => {
    const tab = await newUser()
    const sent = { client_id: application, post_logout_redirect_uri: address }
    expect((await ask(tab, sent)).body).toEqual({
      next: 'ask',
      application: { name: 'Wiki', home: 'https://app.example/' },
      user: { username: expect.stringMatching(/^leaver/) },
    })
    expect((await ask(tab, '')).body).toMatchObject({ next: 'ask' })
    expect(await isSignedIn(tab)).toBe(true)
    const confirmed = await ask(tab, sent, { confirmed: true })
    expect(confirmed.body).toMatchObject({ next: 'done', location: address })
    expect(confirmed.headers.get('clear-site-data')).toBe('"cache"')
    expect(await isSignedIn(tab)).toBe(false)
  })

  it('is the ID token of another user or of another session of the same user', async () => {
    const [tab, stranger] = [await newUser(), await newUser()]
    const hint = await hintOf(stranger)
    const { body } = await ask(tab, { id_token_hint: hint, post_logout_redirect_uri: address })
    expect(body).toMatchObject({ next: 'ask', application: { name: 'Wiki' } })
    expect(body).not.toHaveProperty('location')
    expect([await isSignedIn(tab), await isSignedIn(stranger)]).toEqual([true, true])
  })

  it('is a token that is for another application, forged, unsigned, altered, or of another kind', async () => {
    const tab = await newUser()
    const { sid, userId } = sessionOf(tab)
    const right = await hintOf(tab)
    const claims = { iss: `${latchkey.url}/api/auth`, aud: application, sub: userId, sid }
    const logoutToken = await openid.logoutTokens.issue({
      client: { id: application, algorithm: 'ES256' },
      sid,
      userId,
    })
    const hints = {
      'of another application': await hintOf(tab, other),
      'with an unknown key': await forged({ sub: userId, sid }),
      unsigned: unsigned(claims),
      altered: `${right.slice(0, -4)}AAAA`,
      'a logout token': logoutToken,
      'an access token': tab.jar.get('access_token') ?? '',
      'a refresh token': tab.jar.get('refresh_token') ?? '',
      garbage: 'a.b.c',
    }
    for (const [name, id_token_hint] of Object.entries(hints)) {
      const sent = { id_token_hint, client_id: application, post_logout_redirect_uri: address }
      const { body } = await ask(tab, sent)
      expect([name, body.next, body.problem, body.location]).toEqual([name, 'ask', 'invalid_hint', undefined])
      const confirmed = await ask(latchkey.browser(), sent, { confirmed: true })
      expect([name, confirmed.body.next, confirmed.body.location]).toEqual([name, 'done', undefined])
    }
    expect(await isSignedIn(tab)).toBe(true)
  })

  it('never leads to an address that is not registered for this very application', async () => {
    const tab = await newUser()
    const hint = await hintOf(tab)
    const addresses = [
      foreign,
      `${address}/`,
      `${address}?x=1`,
      `${address}#x`,
      'javascript:alert(1)',
      '//app.example',
      address.toUpperCase(),
    ]
    for (const post_logout_redirect_uri of addresses) {
      const { body } = await ask(tab, { id_token_hint: hint, post_logout_redirect_uri })
      expect([body.next, body.problem, body.location]).toEqual(['ask', 'unknown_address', undefined])
    }
    const nobody = latchkey.browser()
    const others: [Sent, string][] = [
      [{}, 'unnamed_application'],
      [{ client_id: other }, 'unknown_address'],
      [{ client_id: 'unknown' }, 'unknown_application'],
    ]
    for (const [sent, problem] of others) {
      const { body } = await ask(nobody, { ...sent, post_logout_redirect_uri: address })
      expect([sent, body.problem, body.location]).toEqual([sent, problem, undefined])
    }
    const twice = `client_id=${application}&post_logout_redirect_uri=${address}&post_logout_redirect_uri=${address}`
    const ofNobody = await ask(nobody, twice)
    expect(ofNobody.body).toEqual({ next: 'done', problem: 'invalid_parameters' })
    expect(ofNobody.headers.get('clear-site-data')).toBeNull()
    expect(await isSignedIn(tab)).toBe(true)
    await until('operators read which one is registered', async () => {
      const errors = await latchkey.sql.query<{ message: string }>('select message from application_errors')
      const sentence = `post_logout_redirect_uri \`${address}\` is not registered, \`${foreign}\` is`
      return errors.some(({ message }) => message === sentence)
    })
  })
})
