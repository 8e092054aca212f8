import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { operatorClient } from '../../src/http/request-origin.js'
import { hours, minutes } from '../../src/lib/durations.js'
import { addApplication } from '../support/applications.js'
import { parametersFor, redirectAddress } from '../support/authorization-requests.js'
import type { Browser } from '../support/client.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { until } from '../support/until.js'

const sibling = 'https://shop.example.com'
let latchkey: Latchkey
let id: string
beforeAll(async () => {
  latchkey = await startLatchkey({ settings: { ALLOWED_ORIGINS: sibling } })
  const nothing = await latchkey.browser().post('/api/auth/authorization', { parameters: parametersFor('none') })
  expect([nothing.status, nothing.body.code]).toEqual([404, 'not_found'])
  expect((await latchkey.browser().get('/api/auth/authorize')).status).toBe(404)
  id = (await addApplication(latchkey, { name: 'Grafana' })).id
  // While there was no application, the service asks for the first one once a second.
  await latchkey.advance(1_001)
})
afterAll(() => latchkey.stop())

type State = {
  request?: string
  next: string
  application?: { name: string; home: string }
  user?: { id: string; username: string }
  scopes?: string[]
  methods?: string[]
  location?: string
}
const path = '/api/auth/authorization'
const ask = async (tab: Browser, body: object) => {
  const { status, text, body: answer } = await tab.post(path, body)
  if (status !== 200) throw new Error(`${status}: ${text}`)
  return answer as State
}
const begin = (tab: Browser, changed: Record<string, string | null> = {}, application = id) =>
  ask(tab, { parameters: parametersFor(application, changed) })
const answer = async (tab: Browser, { request, user }: State, given: 'continue' | 'deny') =>
  (await tab.act(`${path}/answer`, { request, user: user?.id, answer: given })).body as State
const told = ({ location = '' }: State) => Object.fromEntries(new URL(location).searchParams)
const signIn = (tab: Browser, username: string) => tab.post('/login', { username, password: goodPassword })
const stepUp = async (tab: Browser) =>
  expect((await tab.act('/api/auth/step-up', { password: goodPassword })).status).toBe(200)

describe('the page', () => {
  it('reads no cookie, writes nothing, and cannot be framed', async () => {
    const { status, headers, setCookies, text } = await latchkey
      .browser()
      .get(`/api/auth/authorize?${parametersFor(id)}&ui_locales=xx%20de`, { headers: { cookie: 'access_token=x' } })
    expect([status, setCookies]).toEqual([200, []])
    expect(text).toContain('<html lang="de">')
    expect(headers.get('x-frame-options')).toBe('DENY')
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'")
    const framed = { 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'iframe' }
    expect((await latchkey.browser().get('/api/auth/authorize', { headers: framed })).status).toBe(403)
    const opened = { 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'document', 'sec-fetch-mode': 'navigate' }
    expect((await latchkey.browser().get('/api/auth/authorize', { headers: opened })).status).toBe(200)
    const form = `${parametersFor(id, { state: '</script><b>' })}&nonce=1&nonce=2`
    const type = { 'content-type': 'application/x-www-form-urlencoded', origin: 'https://notes.example.com' }
    // `fetch` of Node writes its own `Sec-Fetch-Mode`.
    const send = (headers: Record<string, string>) =>
      latchkey.app.server.inject({ method: 'POST', url: '/api/auth/authorize', headers, payload: form })
    const posted = await send({ ...opened, ...type })
    expect([posted.statusCode, posted.headers['set-cookie']]).toEqual([200, undefined])
    const [, settings = '{}'] = /id="settings">(.*?)<\/script>/s.exec(posted.body) ?? []
    expect(settings).not.toMatch(/[<>]/)
    const { parameters } = JSON.parse(settings) as { parameters: string }
    const handed = new URLSearchParams(parameters)
    expect([handed.get('state'), handed.getAll('nonce')]).toEqual(['</script><b>', ['1', '1']])
    const script = { ...type, 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'empty', 'sec-fetch-mode': 'no-cors' }
    expect((await send(script)).statusCode).toBe(403)
    const [row] = await latchkey.sql.query<{ count: number }>('select count(*)::int from authorization_requests')
    expect(row?.count).toBe(0)
  })
})

describe('a redirect address', () => {
  it.each([
    ['a part of it', 'https://notes.example.com/call'],
    ['more than it', `${redirectAddress}/more`],
    ['a query', `${redirectAddress}?x=1`],
    ['user information', 'https://notes.example.com@evil.example/callback'],
    ['a user in front', 'https://evil@notes.example.com/callback'],
    ['a backslash', 'https://notes.example.com\\callback'],
    ['an encoded slash', 'https://notes.example.com%2fcallback'],
    ['a fragment', `${redirectAddress}#x`],
    ['a port', 'https://notes.example.com:443/callback'],
    ['another scheme', 'http://notes.example.com/callback'],
    ['capital letters', 'https://NOTES.example.com/callback'],
    ['a slash at the end', `${redirectAddress}/`],
    ['a path that goes up', 'https://notes.example.com/x/../callback'],
    ['a space', ` ${redirectAddress}`],
    ['a script', 'javascript:alert(1)'],
  ])('with %s is not the registered one, and gets no answer', async (_, address) => {
    const refused = await latchkey.browser().post(path, { parameters: parametersFor(id, { redirect_uri: address }) })
    expect([refused.status, refused.body.code, refused.body.location]).toEqual([
      400,
      'redirect_not_registered',
      undefined,
    ])
    expect(refused.body.requestId).toBe(refused.headers.get('x-request-id'))
    expect(refused.text).not.toContain(redirectAddress)
  })

  it('that is missing or there twice gets none either, and operators read which one is registered', async () => {
    const twice = `${parametersFor(id)}&redirect_uri=${encodeURIComponent(redirectAddress)}`
    for (const parameters of [parametersFor(id, { redirect_uri: null }), twice])
      expect((await latchkey.browser().post(path, { parameters })).body.code).toBe('redirect_not_registered')
    const unknown = await latchkey.browser().post(path, { parameters: parametersFor('nobody') })
    expect(unknown.body.code).toBe('unknown_application')
    // Of so many addresses only the first of a minute were written at once.
    await latchkey.advance(1 * minutes)
    await latchkey.browser().post(path, { parameters: parametersFor(id, { redirect_uri: `${redirectAddress}/` }) })
    const sentence = `redirect_uri \`${redirectAddress}/\` is not registered, \`${redirectAddress}\` is`
    await until('the error is noted', async () => {
      const rows = await latchkey.sql.query<{ message: string }>('select message from application_errors')
      return rows.some(({ message }) => message === sentence)
    })
    const logged = latchkey.logLines.join('')
    expect(logged).toContain(`"application":"${id}","name":"Grafana","reason":"${sentence}"`)
    expect(logged).toContain('The client_id `nobody` is not known')
  })

  it('of a native application on the same machine may have any port, and nothing else', async () => {
    const redirectAddresses = ['http://127.0.0.1/cb']
    const application = await addApplication(latchkey, {
      name: 'Native',
      kind: 'native',
      home: 'http://127.0.0.1',
      redirectAddresses,
    })
    const tab = latchkey.browser()
    const sent = (address: string) =>
      tab.post(path, { parameters: parametersFor(application.id, { redirect_uri: address }) })
    expect((await sent('http://127.0.0.1:50123/cb')).status).toBe(200)
    for (const address of [
      'http://localhost:50123/cb',
      'http://127.0.0.1:50123/',
      'http://127.0.0.1:5@evil.example/cb',
    ])
      expect((await sent(address)).body.code).toBe('redirect_not_registered')
  })
})

describe('a request', () => {
  it.each([
    ['response_type is missing', { response_type: null }, 'invalid_request'],
    ['response_type is token', { response_type: 'id_token' }, 'unsupported_response_type'],
    ['response_mode is form_post', { response_mode: 'form_post' }, 'invalid_request'],
    ['scope lacks openid', { scope: 'profile' }, 'invalid_scope'],
    ['PKCE is missing', { code_challenge: null, code_challenge_method: null }, 'invalid_request'],
    ['PKCE is plain', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['PKCE has no method', { code_challenge_method: null }, 'invalid_request'],
    ['the challenge is short', { code_challenge: 'a'.repeat(42) }, 'invalid_request'],
    ['the challenge is long', { code_challenge: 'a'.repeat(129) }, 'invalid_request'],
    ['prompt is none and more', { prompt: 'none login' }, 'invalid_request'],
    ['prompt is unknown', { prompt: 'dance' }, 'invalid_request'],
    ['max_age is no number', { max_age: '-1' }, 'invalid_request'],
    ['claims are no JSON', { claims: '{' }, 'invalid_request'],
    ['the user whom the claims name is no text', { claims: '{"id_token":{"sub":{"value":5}}}' }, 'invalid_request'],
    ['there is a request object', { request: 'a.b.c' }, 'request_not_supported'],
    ['there is the address of one', { request_uri: 'https://app.example/r' }, 'request_uri_not_supported'],
    ['there is a registration', { registration: '{}' }, 'registration_not_supported'],
  ] as [string, Record<string, string | null>, string][])('is refused if %s', async (_, changed, error) => {
    const state = await begin(latchkey.browser(), changed)
    expect(state.next).toBe('done')
    expect(state.location?.startsWith(`${redirectAddress}?`)).toBe(true)
    expect(told(state)).toMatchObject({ error, state: 'the state', iss: `${latchkey.url}/api/auth` })
    expect(told(state).error_description).toMatch(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/)
  })

  it.each([
    ['state', 'a\0b'],
    ['nonce', 'a\0b'],
    ['client_id', 'a\0b'],
    ['a\0b', 'c'],
  ])('has no NUL, which no database stores: %j', async (name, value) => {
    const parameters = new URLSearchParams(parametersFor(id))
    parameters.set(name, value)
    const { status } = await latchkey.browser().post(path, { parameters: parameters.toString() })
    expect(status).toBe(400)
  })

  it('has no NUL in its claims either', async () => {
    const state = await begin(latchkey.browser(), { claims: '{"id_token":{"sub":{"value":"a\\u0000b"}}}' })
    expect(told(state).error).toBe('invalid_request')
  })

  it('has no parameter twice, and nobody knows which of two states was meant', async () => {
    const twice = await ask(latchkey.browser(), { parameters: `${parametersFor(id)}&state=other` })
    expect([told(twice).error, told(twice).state]).toEqual(['invalid_request', undefined])
  })

  it('may have what is unknown, and scopes that are', async () => {
    const tab = await latchkey.signedUp('unknowns')
    const state = await begin(tab, { scope: 'openid offline_access more', display: 'popup', anything: 'x' })
    expect(told(state)).toEqual({
      code: expect.any(String),
      state: 'the state',
      iss: `${latchkey.url}/api/auth`,
    })
  })
})

describe('a stored request', () => {
  it('waits for the sign-in, and is used once by 20 tabs', async () => {
    const tab = await latchkey.signedUp('ada')
    await tab.act('/api/auth/logout')
    const first = await begin(tab)
    expect(first).toMatchObject({
      next: 'sign_in',
      application: { name: 'Grafana', home: 'https://notes.example.com' },
    })
    expect(first.request?.startsWith(`${id}.`)).toBe(true)
    await signIn(tab, 'ada')
    const all = await Promise.all(Array.from({ length: 20 }, () => ask(tab.copy(), { request: first.request })))
    expect(all.filter(({ location }) => location !== undefined)).toHaveLength(1)
    expect(new Set(all.map(({ next }) => next))).toEqual(new Set(['done', 'start_again']))
    const [late] = all.filter(({ next }) => next === 'start_again')
    expect(late?.application).toEqual({ name: 'Grafana', home: 'https://notes.example.com' })
  })

  it('belongs to its browser, and ends after an hour', async () => {
    const tab = latchkey.browser()
    const { request } = await begin(tab)
    const stranger = await latchkey.signedUp('stranger')
    expect((await ask(stranger, { request })).next).toBe('start_again')
    const planted = await begin(stranger, { prompt: 'login' })
    expect(planted.next).toBe('prove')
    expect((await ask(stranger, { request })).next).toBe('start_again')
    await latchkey.advance(1 * hours)
    expect(await ask(tab, { request })).toEqual({
      next: 'start_again',
      application: { name: 'Grafana', home: 'https://notes.example.com' },
    })
    expect(await ask(tab, { request: 'made up' })).toEqual({ next: 'start_again' })
  })

  it('asks another user than the one who has proven it, and answers nobody whom the page did not show', async () => {
    const tab = await latchkey.signedUp('first')
    const begun = await begin(tab, { prompt: 'login consent' })
    await latchkey.advance(5)
    await stepUp(tab)
    const first = await ask(tab, { request: begun.request })
    expect([first.next, first.user?.username]).toEqual(['consent', 'first'])
    await latchkey.signedUp('second')
    await signIn(tab, 'second')
    const stale = await answer(tab, first, 'continue')
    expect([stale.next, stale.user?.username]).toEqual(['choose', 'second'])
    const second = await answer(tab, stale, 'continue')
    expect(second.next).toBe('consent')
    expect(told(await answer(tab, second, 'continue')).code).toEqual(expect.any(String))
    const [row] = await latchkey.sql.query<{ username: string }>(
      'select username from application_sessions as a join users as u on u.id = a.user_id order by a.created_at desc limit 1',
    )
    expect(row?.username).toBe('second')
  })

  it('is answered by our own pages only: not by a forged form, and not by a script of an allowed origin', async () => {
    const tab = await latchkey.signedUp('forged')
    const asked = await begin(tab, { prompt: 'consent' })
    const body = { request: asked.request, user: asked.user?.id, answer: 'continue' }
    expect((await tab.post(`${path}/answer`, body)).body.code).toBe('invalid_csrf_token')
    const script = { headers: { origin: sibling, 'sec-fetch-site': 'same-site' } }
    expect((await tab.post(path, { parameters: parametersFor(id) }, script)).body.code).toBe('cross_site')
    expect((await tab.post(`${path}/answer`, body, { ...script, csrf: true })).body.code).toBe('cross_site')
    expect((await tab.post('/api/auth/refresh', {}, script)).status).toBe(200)
    expect(told(await answer(tab, asked, 'deny'))).toMatchObject({
      error: 'access_denied',
      error_description: 'The user has declined',
    })
    expect((await answer(tab, asked, 'continue')).next).toBe('start_again')
  })

  it('is one of 20 at most in a browser: the oldest is over', async () => {
    const tab = latchkey.browser()
    const all: State[] = []
    for (let count = 0; count < 21; count += 1) all.push(await begin(tab))
    expect((await ask(tab, { request: all[0]?.request })).next).toBe('start_again')
    expect((await ask(tab, { request: all[1]?.request })).next).toBe('sign_in')
  })
})

describe('what is asked', () => {
  it('is nothing, if the user is signed in', async () => {
    const tab = await latchkey.signedUp('quick')
    expect(told(await begin(tab)).code).toEqual(expect.any(String))
    expect(told(await begin(tab, { prompt: 'none' })).code).toEqual(expect.any(String))
  })

  it('is a proof that is made after the request, or young enough, and once', async () => {
    const tab = await latchkey.signedUp('prover')
    await latchkey.advance(10 * minutes)
    expect((await begin(tab, { max_age: '900' })).next).toBe('done')
    expect(told(await begin(tab, { prompt: 'none', max_age: '60' })).error).toBe('interaction_required')
    const asked = [await begin(tab, { prompt: 'login' }), await begin(tab, { max_age: '0' })]
    expect(asked.map(({ next, methods }) => [next, methods])).toEqual(Array(2).fill(['prove', ['password']]))
    await latchkey.advance(5)
    await stepUp(tab)
    // A long way back does not ask again.
    await latchkey.advance(5 * minutes)
    for (const { request } of asked) expect(told(await ask(tab, { request })).code).toEqual(expect.any(String))
    const maxAge = 1 * minutes
    const strict = (await addApplication(latchkey, { name: 'Strict', maxAge })).id
    expect((await begin(tab, {}, strict)).next).toBe('prove')
    expect((await begin(tab, { max_age: '9000' }, strict)).next).toBe('prove')
  })

  it('is a second factor, if the application needs one', async () => {
    const application = await addApplication(latchkey, { name: 'Vault', factors: 2 })
    const tab = await latchkey.signedUp('lone')
    expect((await begin(tab, {}, application.id)).next).toBe('enrol')
    expect(told(await begin(tab, { prompt: 'none' }, application.id)).error).toBe('interaction_required')
    // A preference of the application is not a condition.
    expect((await begin(tab, { acr_values: '2 1' })).next).toBe('done')
  })

  it('is consent where the application asks for it: once for the same scopes, always by a native one', async () => {
    const application = await addApplication(latchkey, { name: 'Asking', consent: 'ask' })
    const tab = await latchkey.signedUp('agreeing')
    expect(told(await begin(tab, { prompt: 'none' }, application.id)).error).toBe('consent_required')
    const asked = await begin(tab, {}, application.id)
    expect([asked.next, asked.scopes]).toEqual(['consent', ['openid', 'profile']])
    expect(asked).toMatchObject({ shared: { profile: 'agreeing' }, icon: null })
    expect(told(await answer(tab, asked, 'continue')).code).toEqual(expect.any(String))
    expect((await begin(tab, {}, application.id)).next).toBe('done')
    const more = await begin(tab, { scope: 'openid email' }, application.id)
    expect(more).toMatchObject({ next: 'consent', shared: { email: 'agreeing@example.com' } })
    expect((await begin(tab, { prompt: 'consent' }, application.id)).next).toBe('consent')
    const phone = { name: 'Phone', kind: 'native', home: 'app.x:/', redirectAddresses: ['app.x:/cb'] } as const
    const native = (await addApplication(latchkey, phone)).id
    const change = { redirect_uri: 'app.x:/cb' }
    const once = await begin(tab, change, native)
    expect((await answer(tab, once, 'continue')).location).toMatch(/^app\.x:\/cb\?code=/)
    expect((await begin(tab, change, native)).next).toBe('consent')
    expect((await begin(tab, { ...change, prompt: 'none' }, native)).location).toContain('error=interaction_required')
  })

  it('is nothing of a user who is in no group of the application, whatever they have agreed to', async () => {
    await latchkey.app.rooms.groups.add('staff', operatorClient('root'))
    const given = { name: 'Staff', access: 'groups', groups: ['staff'], consent: 'ask' } as const
    const application = await addApplication(latchkey, given)
    const tab = await latchkey.signedUp('visitor')
    const userId = (await begin(tab, { prompt: 'consent' })).user?.id ?? ''
    const change = latchkey.app.rooms.groupChanges.change
    const client = operatorClient('root')
    await change({ userId, client }, { add: ['staff'] })
    await tab.post('/api/auth/refresh')
    const asked = await begin(tab, {}, application.id)
    expect((await answer(tab, asked, 'continue')).next).toBe('done')
    await change({ userId, client }, { remove: ['staff'] })
    await tab.post('/api/auth/refresh')
    const refused = await begin(tab, {}, application.id)
    expect([refused.next, refused.user?.username]).toEqual(['no_access', 'visitor'])
    const denied = { error: 'access_denied', error_description: 'The user has no access to this application' }
    expect(told(await begin(tab, { prompt: 'none' }, application.id))).toMatchObject(denied)
    expect((await answer(tab, refused, 'continue')).next).toBe('no_access')
    expect(told(await answer(tab, refused, 'deny'))).toMatchObject(denied)
    // However often it is tried, operators read it once among the events of the user.
    const events = await latchkey.sql.query(
      "select reason from events where user_id = $1 and session_id is not null and kind = 'application_refused'",
      [userId],
    )
    expect(events).toEqual([{ reason: 'Staff: no_access, the user is in none of its groups' }])
  })

  it('is which account, if the application wants to know that or names another user', async () => {
    const tab = await latchkey.signedUp('chooser')
    const asked = await begin(tab, { prompt: 'select_account' })
    expect([asked.next, asked.user?.username]).toEqual(['choose', 'chooser'])
    expect(told(await answer(tab, asked, 'continue')).code).toEqual(expect.any(String))
    const claims = JSON.stringify({ id_token: { sub: { value: '018f0000-0000-7000-8000-000000000000' } } })
    expect(told(await begin(tab, { prompt: 'none', claims })).error).toBe('login_required')
    const other = await begin(tab, { claims })
    expect(other.next).toBe('choose')
    expect(told(await answer(tab, other, 'continue')).error).toBe('login_required')
  })

  it('is never asked in silence', async () => {
    expect(told(await begin(latchkey.browser(), { prompt: 'none' })).error).toBe('login_required')
    // The tokens of this session have to be renewed first, and that is not possible at the moment.
    const tab = await latchkey.signedUp('silent')
    tab.jar.set('access_token', 'x')
    expect(told(await begin(tab, { prompt: 'none' })).error).toBe('temporarily_unavailable')
  })
})
