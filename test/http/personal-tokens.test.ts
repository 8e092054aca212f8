import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { operatorClient } from '../../src/http/request-origin.js'
import { days, minutes } from '../../src/lib/durations.js'
import { newToken } from '../../src/personal-tokens/token-text.js'
import { addApplication, applicationChangesOf } from '../support/applications.js'
import type { Browser } from '../support/client.js'
import { createMovableClock } from '../support/clock.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { until } from '../support/until.js'

const operator = operatorClient('root')
const clock = createMovableClock()
let latchkey: Latchkey
let ada: Browser
const ids: Record<string, string> = {}

const behindProxy = { home: 'https://wiki.example.com/', redirectAddresses: [] }

beforeAll(async () => {
  latchkey = await startLatchkey({ settings: { TRUST_PROXY: '127.0.0.1', ADMIN_GROUP: 'admins' }, clock })
  await latchkey.app.rooms.groups.add('family', operator)
  const applications = {
    wiki: {},
    photos: {},
    family: { access: 'groups', groups: ['family'] },
    bank: { factors: 2 },
    fresh: { maxAge: 10 * minutes },
    closed: { tokens: false },
  } as const
  for (const [name, more] of Object.entries(applications)) {
    const given = { name, ...behindProxy, proxyOrigin: `https://${name}.example.com`, ...more }
    ids[name] = (await addApplication(latchkey, given)).id
  }
  ids.other = (await addApplication(latchkey, { name: 'other' })).id
  // Below our own host, so a session's cookies get there.
  await addApplication(latchkey, { name: 'here', ...behindProxy, proxyOrigin: 'https://localhost:8443', tokens: false })
  ada = await latchkey.signedUp('ada')
  const { protectedApplications } = latchkey.app.rooms
  await until(
    'the applications are known',
    async () => protectedApplications.find('https://closed.example.com') !== undefined,
  )
})
afterAll(() => latchkey.stop())

type Made = { id: string; token: string }
const make = async (tab: Browser, applications: string[], more: object = {}) =>
  tab.act('/api/auth/tokens', { name: 'Phone', applications: applications.map((name) => ids[name] ?? name), ...more })
const made = async (tab: Browser, ...applications: string[]) => {
  const answer = await make(tab, applications)
  expect([answer.status, answer.body]).toEqual([201, expect.anything()])
  return answer.body as unknown as Made
}
const tokensOf = async (tab: Browser) => {
  const { body } = await tab.get('/api/auth/tokens')
  return body as unknown as { tokens: { id: string; lastUsedAt: string | null }[]; applications: { name: string }[] }
}

const check = (host: string, headers: object = {}, of: Browser = latchkey.browser(), uri = '/page') =>
  of.send('GET', '/api/auth/forward', undefined, {
    headers: {
      'x-forwarded-method': 'GET',
      'x-forwarded-proto': 'https',
      'x-forwarded-host': `${host}.example.com`,
      'x-forwarded-uri': uri,
      ...headers,
    },
  })
const sameHost = { 'x-forwarded-host': 'localhost:8443' }
const bearer = (token: string) => ({ authorization: `Bearer ${token}` })
const basic = (token: string, name = 'anything') => ({
  authorization: `Basic ${Buffer.from(`${name}:${token}`).toString('base64')}`,
})
const statusOf = async (token: string, host = 'wiki') => (await check(host, bearer(token))).status
const ends = (token: string, status = 401) => until('it has ended', async () => (await statusOf(token)) === status)

describe('making a token', () => {
  it('shows it once, and keeps its hash', async () => {
    const { id, token } = await made(ada, 'photos', 'wiki')
    expect(token).toMatch(/^lk_[\w-]{43}[\dA-Za-z]{6}$/)
    const [row] = await latchkey.sql.query<{ text: string }>('select p::text as text from personal_tokens as p')
    expect(row?.text).not.toContain(token)
    const { tokens, applications } = await tokensOf(ada)
    expect(tokens).toMatchObject([
      { id, name: 'Phone', applications: [{ name: 'photos' }, { name: 'wiki' }], lastUsedAt: null },
    ])
    expect(JSON.stringify(tokens)).not.toContain(token)
    expect(applications.map(({ name }) => name)).toEqual(['photos', 'wiki'])
    const { text } = await latchkey.mailTo('ada@example.com', /undo#token=/)
    expect(text).toContain('Phone')
    expect(text).toContain('photos, wiki')
    expect(latchkey.logLines.join('')).not.toContain(token)
  })

  it.each([
    ['no application', { applications: [] }, 400],
    ['an application that is not behind a proxy', { applications: ['other'] }, 400],
    ['one of a group of others', { applications: ['wiki', 'family'] }, 400],
    ['one that asks for more than a token is', { applications: ['bank'] }, 400],
    ['one that asks for a fresh proof', { applications: ['fresh'] }, 400],
    ['one that takes none', { applications: ['closed'] }, 400],
    ['an unknown one', { applications: ['nothing'] }, 400],
    ['a name that cannot be seen', { name: '\u200b\u200b' }, 400],
    ['a longer time than a year', { expiresInDays: 367 }, 400],
    ['no time', { expiresInDays: 0 }, 400],
    ['half a day', { expiresInDays: 0.5 }, 400],
  ])(
    'is refused with %s',
    async (_, given: { applications?: string[]; name?: string; expiresInDays?: number }, status) => {
      const { applications = ['wiki'], ...more } = given
      expect((await make(ada, applications, more)).status).toBe(status)
    },
  )

  it('needs a session, the CSRF token and a fresh proof', async () => {
    const body = { name: 'Phone', applications: [ids.wiki] }
    expect((await latchkey.browser().post('/api/auth/tokens', body)).status).toBe(401)
    expect((await ada.post('/api/auth/tokens', body)).status).toBe(403)
    const bea = await latchkey.signedUp('bea')
    await latchkey.sql.query(
      "update sessions set authenticated_at = now() - interval '1 hour' where user_id = (select id from users where username = 'bea')",
    )
    expect((await make(bea, ['wiki'])).body.code).toBe('fresh_sign_in_required')
  })

  it('is possible twenty times', async () => {
    const cid = await latchkey.signedUp('cid')
    await latchkey.sql.query(
      `insert into personal_tokens (id, user_id, name, hash, applications, created_at, expires_at)
       select gen_random_uuid(), u.id, 'Phone', decode(md5(n::text), 'hex'), '{}', now(), now() + interval '1 day'
       from users as u, generate_series(1, 20) as n where u.username = 'cid'`,
    )
    expect((await make(cid, ['wiki'])).body.code).toBe('too_many_tokens')
  })
})

describe('a program with a token', () => {
  it('is named to the application, without the token', async () => {
    const dan = await latchkey.signedUp('dan')
    const { id, token } = await made(dan, 'wiki')
    for (const headers of [bearer(token), basic(token), basic(token, '')]) {
      const answer = await check('wiki', { ...headers, cookie: 'theme=dark' })
      expect(answer.status).toBe(200)
      expect(answer.headers.get('authorization')).toBe('')
      const named = (name: string) => answer.headers.get(`x-auth-${name}`)
      expect(['username', 'email', 'token-id', 'session-id', 'factors', 'time', 'groups'].map(named)).toEqual([
        'dan',
        'dan@example.com',
        id,
        '',
        '1',
        '0',
        '',
      ])
    }
  })

  it('opens nothing else', async () => {
    const eve = await latchkey.signedUp('eve')
    const { token } = await made(eve, 'wiki')
    expect((await check('photos', bearer(token))).body.code).toBe('token_refused')
    expect((await check('closed', bearer(token))).body.code).toBe('token_refused')
    for (const path of [
      '/api/auth/me',
      '/api/auth/verify',
      '/api/auth/account',
      '/api/auth/tokens',
      '/api/auth/userinfo',
    ])
      for (const headers of [bearer(token), basic(token)])
        expect((await latchkey.browser().send('GET', path, undefined, { headers })).status, path).toBe(401)
    const body = { name: 'Phone', applications: [ids.wiki] }
    const asked = await latchkey.browser().send('POST', '/api/auth/tokens', body, { headers: bearer(token) })
    expect(asked.status).toBe(401)
  })

  it('decides alone: no cookie helps a wrong one', async () => {
    for (const headers of [bearer('lk_wrong'), bearer(newToken()), basic(newToken()), { authorization: newToken() }]) {
      const answer = await check('here', { ...sameHost, ...headers }, ada)
      expect([answer.status, answer.headers.get('x-auth-user-id')]).toEqual([401, null])
    }
    const own = await check('here', { ...sameHost, authorization: 'Bearer of-the-application' }, ada)
    expect([own.status, own.headers.get('authorization')]).toEqual([200, 'Bearer of-the-application'])
  })

  it('is not led to a page, and a browser does not send it for another site', async () => {
    const navigation = { 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document', 'sec-fetch-site': 'none' }
    const answer = await check('wiki', { ...navigation, ...bearer(newToken()) })
    expect([answer.status, answer.headers.get('location')]).toEqual([401, null])
    const fay = await latchkey.signedUp('fay')
    const { token } = await made(fay, 'wiki')
    const ofOther = { 'sec-fetch-site': 'cross-site', 'sec-fetch-dest': 'image' }
    expect((await check('wiki', { ...basic(token), ...ofOther })).status).toBe(401)
    expect((await check('wiki', { ...bearer(token), ...ofOther })).status).toBe(200)
  })

  it('never reaches the application by an open path either', async () => {
    const changes = applicationChangesOf(latchkey)
    await changes.change(ids.photos ?? '', { openPaths: ['/public/'] }, operator)
    await until('it is open', async () => (await check('photos', {}, undefined, '/public/a')).status === 200)
    const answer = await check('photos', bearer(newToken()), undefined, '/public/a')
    expect([answer.status, answer.headers.get('authorization')]).toEqual([200, ''])
  })

  it('is refused where a fresh proof, two factors or a group is asked for since', async () => {
    const gil = await latchkey.signedUp('gil')
    const { token } = await made(gil, 'wiki', 'photos')
    const changes = applicationChangesOf(latchkey)
    const refusals: [object, object, string][] = [
      [{ factors: 2 }, { factors: 1 }, 'step_up_required'],
      [{ maxAge: 10 * minutes }, { maxAge: undefined }, 'step_up_required'],
      [{ access: 'groups', groups: ['family'] }, { access: 'everyone', groups: [] }, 'group_required'],
      [{ tokens: false }, { tokens: true }, 'token_refused'],
    ]
    for (const [change, back, code] of refusals) {
      await changes.change(ids.wiki ?? '', change, operator)
      await until(`${code}`, async () => (await check('wiki', bearer(token))).body.code === code)
      expect((await check('wiki', bearer(token))).status).toBe(403)
      await changes.change(ids.wiki ?? '', back, operator)
      await until('it is open again', async () => (await statusOf(token)) === 200)
    }
  })

  it('has the groups and the names of its user of now', async () => {
    const hal = await latchkey.signedUp('hal')
    const { rooms } = latchkey.app
    const [user] = await latchkey.sql.query<{ id: string }>("select id from users where username = 'hal'")
    const context = { userId: user?.id ?? '', client: operator }
    await rooms.groupChanges.change(context, { add: ['family'] })
    await hal.post('/api/auth/refresh')
    const { token } = await made(hal, 'family')
    expect((await check('family', bearer(token))).headers.get('x-auth-groups')).toBe('family')
    await rooms.groupChanges.change(context, { remove: ['family'] })
    await until('the group is lost', async () => (await statusOf(token, 'family')) === 403)
    await rooms.groupChanges.change(context, { add: ['family'] })
    await until('the group is back', async () => (await statusOf(token, 'family')) === 200)
    await latchkey.sql.query("update users set name = 'Hal' where username = 'hal'")
    await until(
      'the name is known',
      async () => (await check('family', bearer(token))).headers.get('x-auth-name') === 'Hal',
    )
  })
})

describe('a token that is remembered', () => {
  it('asks the database once, and its use is noted once an hour', async () => {
    const ida = await latchkey.signedUp('ida')
    const { token } = await made(ida, 'wiki')
    expect(await statusOf(token)).toBe(200)
    const noted = async () => (await tokensOf(ida)).tokens[0]?.lastUsedAt
    await until('the use is noted', async () => typeof (await noted()) === 'string')
    const first = await noted()
    await latchkey.sql.query(
      "update personal_tokens set hash = '\\x00' where user_id = (select id from users where username = 'ida')",
    )
    expect(await statusOf(token)).toBe(200)
    expect(await noted()).toBe(first)
  })

  it('expires', async () => {
    const jan = await latchkey.signedUp('jan')
    const { body } = await make(jan, ['wiki'], { expiresInDays: 1 })
    const { token } = body as unknown as Made
    expect(await statusOf(token)).toBe(200)
    clock.advance(1 * days)
    expect(await statusOf(token)).toBe(401)
  })
})

describe('a token ends within two seconds', () => {
  let count = 0
  const used = async () => {
    count += 1
    const username = `user${count}`
    const tab = await latchkey.signedUp(username)
    const { id, token } = await made(tab, 'wiki')
    expect(await statusOf(token)).toBe(200)
    const [user] = await latchkey.sql.query<{ id: string }>('select id from users where username = $1', [username])
    return { username, tab, id, token, userId: user?.id ?? '', context: { userId: user?.id ?? '', client: operator } }
  }
  type Used = Awaited<ReturnType<typeof used>>
  const endings: Record<string, (given: Used) => Promise<unknown>> = {
    'by its user': ({ tab, id }) => tab.remove(`/api/auth/tokens/${id}`),
    'by a change of the password': ({ tab }) =>
      tab.act('/api/auth/change-password', { currentPassword: goodPassword, newPassword: 'copper-Lagoon-47-meadow' }),
    'by a sign-out everywhere': ({ tab }) => tab.act('/api/auth/logout-all'),
    'when the account is disabled': ({ context }) => latchkey.app.rooms.operatorChanges.disable(context),
    'when the account is locked down': ({ context }) => latchkey.app.rooms.operatorChanges.lockDown(context),
    'when the account is deleted': ({ context }) => latchkey.app.rooms.operatorChanges.remove(context),
    'when somebody writes SQL': ({ id }) => latchkey.sql.query('delete from personal_tokens where id = $1', [id]),
    'by an operator': ({ context, id }) => latchkey.app.rooms.personalTokens.endByOperator(context, id),
  }
  it.each(Object.entries(endings))('%s', async (_, end) => {
    const given = await used()
    await end(given)
    await ends(given.token)
  })

  it('by the link in the mail about it, which is told which tokens end', async () => {
    const { username, token } = await used()
    const { text } = await latchkey.mailTo(`${username}@example.com`, /undo#token=/)
    const link = /#token=([\w.-]+)/.exec(text)?.[1]
    const browser = latchkey.browser()
    const state = await browser.post('/api/auth/undo/check', { token: link })
    expect(state.body).toMatchObject({ kind: 'token', removes: { tokens: ['Phone'] } })
    expect(
      (await browser.post('/api/auth/factors/undo', { token: link, password: 'copper-Lagoon-47-meadow' })).status,
    ).toBe(204)
    await ends(token)
  })

  it('and not with the last session of its user', async () => {
    const { tab, token } = await used()
    await tab.act('/api/auth/logout')
    expect(await statusOf(token)).toBe(200)
  })

  it('and is not ended by somebody else', async () => {
    const [{ id, token }, { tab: other }] = [await used(), await used()]
    expect((await other.remove(`/api/auth/tokens/${id}`)).status).toBe(404)
    expect((await other.remove('/api/auth/tokens/nonsense')).status).toBe(400)
    expect(await statusOf(token)).toBe(200)
  })
})

describe('what is known of tokens', () => {
  it('is in the export, and in the events of the account', async () => {
    const kim = await latchkey.signedUp('kim')
    const { id, token } = await made(kim, 'wiki')
    const exported = await kim.get('/api/auth/export')
    expect(exported.body).toMatchObject({ personalTokens: [{ id, name: 'Phone', applications: [{ name: 'wiki' }] }] })
    expect(JSON.stringify(exported.body)).not.toContain(token)
    await kim.remove(`/api/auth/tokens/${id}`)
    const { body } = await kim.get('/api/auth/events')
    const kinds = (body.events as { kind: string; reason: string }[]).map(({ kind, reason }) => `${kind} ${reason}`)
    expect(kinds.slice(0, 2)).toEqual(['token_ended Phone', 'token_made Phone'])
  })
})

describe('wrong tokens', () => {
  /** Without the headers that `fetch` adds. */
  const ask = (headers: Record<string, string>, accept = '*/*') =>
    new Promise<{ status: number | undefined; challenge: string | undefined; retryAfter: string | undefined }>(
      (resolve, reject) => {
        const asked = { 'x-original-method': 'GET', 'x-original-url': 'https://wiki.example.com/dav/' }
        request(`${latchkey.url}/api/auth/forward`, { headers: { ...asked, accept, ...headers } }, (answer) => {
          answer.resume()
          const { 'www-authenticate': challenge, 'retry-after': retryAfter } = answer.headers
          resolve({ status: answer.statusCode, challenge, retryAfter })
        })
          .on('error', reject)
          .end()
      },
    )

  it('are answered with a question for a password, where a program asks and the application takes tokens', async () => {
    const question = 'Basic realm="https://wiki.example.com", Bearer'
    expect(await ask({})).toMatchObject({ status: 401, challenge: question })
    expect(await ask(bearer(newToken()))).toMatchObject({ status: 401, challenge: question })
    expect(await ask({}, 'text/html')).toMatchObject({ status: 401, challenge: undefined })
    expect(await ask({ 'sec-fetch-mode': 'cors' })).toMatchObject({ status: 401, challenge: 'Bearer' })
    const bank = { 'x-original-url': 'https://bank.example.com/' }
    expect(await ask(bank)).toMatchObject({ status: 401, challenge: 'Bearer' })
  })

  it('are limited by network, and a right one works all the same', async () => {
    const lea = await latchkey.signedUp('lea')
    const { token } = await made(lea, 'wiki')
    const from = { 'x-forwarded-for': '198.51.100.7' }
    const wrong = () => check('wiki', { ...bearer('lk_wrong'), ...from })
    const statuses = new Set<number>()
    for (let time = 0; time < 300; time += 1) statuses.add((await wrong()).status)
    expect([...statuses]).toEqual([401])
    const late = await wrong()
    expect([late.status, Number(late.headers.get('retry-after')) > 800]).toEqual([429, true])
    // nginx makes 500 of a status that it does not know.
    expect(await ask({ ...bearer('lk_wrong'), ...from })).toMatchObject({ status: 401, retryAfter: expect.anything() })
    expect((await check('wiki', { ...bearer(token), ...from })).status).toBe(200)
    expect((await check('wiki', bearer('lk_wrong'))).status).toBe(401)
    // Nobody is kept from signing in.
    const login = { username: 'lea', password: goodPassword }
    const tab = latchkey.browser()
    expect((await tab.send('POST', '/api/auth/login', login, { headers: from })).status).toBe(200)
    expect(await latchkey.sql.query("select 1 from counters where key like '%token%'")).toEqual([])
  })
})
