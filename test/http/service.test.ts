import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Validator } from '@seriousme/openapi-schema-validator'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { serviceScopes } from '#contract/service.js'
import { forPrograms, partOf } from '../../scripts/document-parts.mjs'
import { minutes } from '../../src/lib/durations.js'
import { uuidv7 } from '../../src/lib/uuid.js'
import { newServiceKey, parseServiceKeys } from '../../src/programs/service-keys.js'
import { documentedOperations } from '../support/api-document.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { openRawConnection } from '../support/raw-connection.js'

const [billing, wiki] = [newServiceKey('billing', { scopes: serviceScopes }), newServiceKey('wiki')]
const usual = newServiceKey('usual')
const sync = newServiceKey('sync', { scopes: ['revocations:read'] })
const shortLived = newServiceKey('short', { expiresAt: new Date(Date.now() + 10 * minutes) })
let folder: string
let file: string
let latchkey: Latchkey

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'latchkey-keys-'))
  file = join(folder, 'keys')
  await writeFile(file, `# applications\n\n${[billing, usual, sync, shortLived].map(({ line }) => line).join('\n')}\n`)
  latchkey = await startLatchkey({ settings: { SERVICE_KEYS_FILE: file, LOGIN_LIMIT: '5/15m' } })
})
afterAll(async () => {
  await latchkey?.stop()
  await rm(folder, { recursive: true, force: true })
})

const ask = (path: string, { key = billing.key, method = 'GET', address = '192.0.2.1', headers = {} } = {}) =>
  fetch(new URL(`/api/service/${path}`, latchkey.url), {
    method,
    headers: { authorization: `Bearer ${key}`, 'x-forwarded-for': address, ...headers },
  })
const rawAsk = async (lines: string[]) => {
  const connection = openRawConnection(Number(new URL(latchkey.url).port))
  const text = ['GET /api/service/users/ada HTTP/1.1', 'Host: localhost', ...lines].join('\r\n')
  return connection.ask(`${text}\r\n\r\n`).finally(() => connection.close())
}
const idOf = async (username: string) => {
  const [row] = await latchkey.sql.query<{ id: string }>('select id from users where username = $1', [username])
  return row?.id ?? ''
}

describe('another program with a service key', () => {
  it('is told who a user is, by id and by email', async () => {
    await latchkey.signedUp('ada', { email: 'Ada@example.com' })
    const id = await idOf('ada')
    await latchkey.sql.query("update users set groups = '{admins,staff}' where id = $1", [id])
    const user = {
      id,
      email: 'Ada@example.com',
      username: 'ada',
      name: null,
      provider: null,
      providers: [],
      groups: ['admins', 'staff'],
      fields: {},
      disabled: false,
      createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
    }
    expect(await (await ask(`users/${id}`)).json()).toEqual({ user })
    expect(await (await ask('users?email=ada%40EXAMPLE.com')).json()).toEqual({ user })
  })

  it('gets 404 for a user that is not there, and 400 for a question that is no question', async () => {
    for (const path of [`users/${uuidv7(new Date())}`, 'users/ada', 'users?email=nobody@example.com', 'users?email=x'])
      expect((await ask(path)).status, path).toBe(404)
    const alone = ['users?email=', 'users?mail=ada@example.com', 'users?email=a&email=b', 'users?email=a&limit=5']
    for (const path of [...alone, 'users?limit=0', 'users?limit=201', 'users?secondFactor=totp'])
      expect((await ask(path)).status, path).toBe(400)
    expect((await ask(`users/${uuidv7(new Date())}/sign-out`, { method: 'POST' })).status).toBe(404)
  })

  it('finds users with a body, so that no address stands in a URL, as with the same parameters', async () => {
    const search = (body: unknown) =>
      fetch(new URL('/api/service/users/search', latchkey.url), {
        method: 'POST',
        headers: { authorization: `Bearer ${billing.key}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      })
    const queries: Record<string, string>[] = [{ email: 'ADA@example.com' }, { search: 'ada' }, { group: 'staff' }]
    for (const query of queries) {
      const parameters = new URLSearchParams(query)
      const [byBody, byParameters] = [await search(query), await ask(`users?${parameters}`)]
      expect([byBody.status, await byBody.json()]).toEqual([200, await byParameters.json()])
    }
    expect(((await (await search({ limit: 1 })).json()) as { users: unknown[] }).users).toHaveLength(1)
    expect((await search({ email: 'nobody@example.com' })).status).toBe(404)
    const bad = [{ mail: 'ada@example.com' }, { email: 'a', limit: 5 }, { limit: 0 }, { limit: '5' }, { email: '' }, []]
    for (const query of bad) expect((await search(query)).status, JSON.stringify(query)).toBe(400)
    expect(latchkey.logLines.filter((line) => line.includes('"path":"/api/service/users/search"')).join()).not.toMatch(
      /\bada\b/i,
    )
  })

  it('signs a user out everywhere, and the event names the key', async () => {
    const tab = await latchkey.signedUp('grace')
    const id = await idOf('grace')
    expect((await ask(`users/${id}/sign-out`, { method: 'POST' })).status).toBe(204)
    expect((await tab.post('/api/auth/refresh')).status).toBe(401)
    const events = await latchkey.sql.query(
      `select kind, user_agent, actor_key from events where user_id = $1 and kind = 'sessions_ended'`,
      [id],
    )
    expect(events).toEqual([{ kind: 'sessions_ended', user_agent: 'service key billing', actor_key: 'billing' }])
  })

  it('signs one user out ten times an hour, so that a stolen key keeps no administrator out', async () => {
    const [admin, other] = [await latchkey.signedUp('admin1'), await latchkey.signedUp('other1')]
    const signOut = async (username: string) => ask(`users/${await idOf(username)}/sign-out`, { method: 'POST' })
    const statuses = []
    for (let tries = 0; tries < 11; tries += 1) statuses.push((await signOut('admin1')).status)
    expect(statuses).toEqual([...Array(10).fill(204), 429])
    expect((await admin.get('/api/auth/me')).status).toBe(401)
    const again = latchkey.browser()
    await again.post('/login', { username: 'admin1', password: goodPassword })
    const refused = await signOut('admin1')
    expect([refused.status, Number(refused.headers.get('retry-after')) > 3_000]).toEqual([429, true])
    expect((await again.get('/api/auth/me')).status).toBe(200)
    expect((await signOut('other1')).status).toBe(204)
    expect((await other.get('/api/auth/me')).status).toBe(401)
  })

  it('is in the log by its name, and its key is not', async () => {
    await ask('users/ada')
    const lines = latchkey.logLines.join('')
    expect(lines).toContain('"serviceKey":"billing"')
    expect(lines).not.toContain(billing.key)
  })

  it('has 600 requests a minute for itself', async () => {
    const { headers } = await ask('users/ada')
    expect(headers.get('ratelimit-policy')).toBe('"service";q=600;w=60')
  })
})

it('docs/openapi-service.json is what the routes say: run npm run docs', async () => {
  const { body } = await latchkey.browser().get('/api/openapi.json')
  const document = JSON.parse(await readFile(new URL('../../docs/openapi-service.json', import.meta.url), 'utf8'))
  expect(document).toEqual(partOf(body, forPrograms))
  expect(await new Validator().validate(document)).toMatchObject({ valid: true })
  const listing = documentedOperations(document).find(({ operationId }) => operationId === 'getServiceUsers')
  expect(listing?.description).toContain('users:read')
  expect(listing?.answers['401']?.headers).toHaveProperty('WWW-Authenticate')
  expect(listing?.answers['401']?.description).toBe('not_authenticated')
})

describe('the list of ended sessions', () => {
  type News = { entries: { sid: string; below: number | null }[]; cursor: string; complete: boolean }
  const revocations = async (query = ''): Promise<News> => (await (await ask(`revocations${query}`)).json()) as News
  const sessionOf = async (tab: Awaited<ReturnType<Latchkey['signedUp']>>) =>
    String((await tab.get('/api/auth/me')).body.sessionId)

  it('is whole at first, then what is new, and a program that waits is told at once', async () => {
    const [early, late] = [await latchkey.signedUp('hopper'), await latchkey.signedUp('lovelace')]
    const [first, second] = [await sessionOf(early), await sessionOf(late)]
    await early.act('/api/auth/logout')
    const whole = await revocations()
    expect(whole.complete).toBe(true)
    expect(whole.entries).toContainEqual({ sid: first, below: null })
    expect(whole.entries.map(({ sid }) => sid)).not.toContain(second)

    expect(await revocations(`?after=${whole.cursor}`)).toMatchObject({ entries: [], complete: false })
    const waiting = revocations(`?after=${whole.cursor}&wait=25`)
    await late.act('/api/auth/logout')
    const news = await waiting
    expect(news).toMatchObject({ entries: [{ sid: second, below: null }], complete: false })
    expect(await revocations(`?after=${news.cursor}&wait=1`)).toMatchObject({ entries: [], complete: false })
  })

  it('is whole again for a cursor that we do not know', async () => {
    for (const cursor of ['x', 'WzFd', Buffer.from('[1,"a","1:1:","1","1",null]').toString('base64url')])
      expect((await revocations(`?after=${cursor}`)).complete, cursor).toBe(true)
  })

  it.each(['?wait=26', '?wait=-1', '?wait=x'])('takes no %s', async (query) => {
    expect((await ask(`revocations${query}`)).status).toBe(400)
  })
})

describe('without a right key', () => {
  it('no cookie, no access token and no other scheme opens these routes', async () => {
    const tab = await latchkey.signedUp('mary')
    const token = tab.jar.get('access_token') ?? ''
    expect((await tab.get('/api/service/users?email=mary@example.com')).status).toBe(401)
    const address = '192.0.2.7'
    expect((await ask('users/ada', { key: token, address })).status).toBe(401)
    const twice = await rawAsk([`Authorization: Bearer ${billing.key}`, 'Authorization: Bearer x'])
    expect(twice).toMatch(/^HTTP\/1\.1 401 /)
    const answer = await ask('users/ada', { headers: { authorization: `Basic ${billing.key}` }, address })
    expect(answer.status).toBe(401)
    expect(answer.headers.get('www-authenticate')).toBe('Bearer')
  })

  it('a service key opens nothing else', async () => {
    const answer = await fetch(new URL('/api/auth/me', latchkey.url), {
      headers: { authorization: `Bearer ${billing.key}` },
    })
    expect(answer.status).toBe(401)
  })

  it('an address that a proxy may read as another one is not there, and counts nothing', async () => {
    const address = '198.51.100.10'
    const paths = ['users/..%2f..%2fauth%2flogin', 'users%2fada', '%75sers/ada', `users/${await idOf('ada')}%2e`]
    for (const path of paths)
      for (const key of [billing.key, wiki.key, wiki.key])
        expect((await ask(path, { key, address })).status, path).toBe(404)
    expect((await ask('users/ada', { key: wiki.key, address })).status).toBe(401)
  })

  it('a wrong key counts as a failed sign-in of its network, which stops no right key', async () => {
    const address = '198.51.100.9'
    for (let tries = 0; tries < 5; tries += 1) {
      expect((await ask('users/ada', { key: wiki.key, address })).status).toBe(401)
    }
    const limited = await ask('users/ada', { key: wiki.key, address })
    expect(limited.status).toBe(429)
    expect(await limited.json()).toMatchObject({ error: 'Too many login attempts', retryAfter: 900 })
    const credentials = { username: 'ada', password: 'x' }
    expect((await latchkey.browser().post('/login', credentials, { address })).status).toBe(429)
    expect((await ask('users/ada', { address })).status).toBe(404)
  })
})

describe('a key', () => {
  const refusedKeys = (address: string) =>
    latchkey.sql.query("select reason from events where kind = 'service_key_refused' and ip = $1", [address])

  it('without scopes reads users and the list of ended sessions, and changes nothing', async () => {
    const id = await idOf('ada')
    const { key } = usual
    expect([(await ask(`users/${id}`, { key })).status, (await ask('revocations', { key })).status]).toEqual([200, 200])
    const answer = await ask(`users/${id}/sign-out`, { key, method: 'POST' })
    expect([answer.status, await answer.json()]).toMatchObject([403, { code: 'scope_required' }])
  })

  it('opens the routes of its scopes only', async () => {
    const { key } = sync
    const id = await idOf('ada')
    expect((await ask('revocations', { key })).status).toBe(200)
    for (const [path, method, scope] of [
      [`users/${id}`, 'GET', 'users:read'],
      ['users?email=ada@example.com', 'GET', 'users:read'],
      [`users/${id}/sign-out`, 'POST', 'sessions:end'],
    ] as const) {
      const answer = await ask(path, { key, method })
      const message = `This needs a service key with the scope ${scope}`
      expect([answer.status, await answer.json()], path).toMatchObject([403, { code: 'scope_required', message }])
      expect(answer.headers.get('www-authenticate')).toBe(`Bearer error="insufficient_scope", scope="${scope}"`)
    }
  })

  it('that is wrong leaves one event for its network, however often it is used', async () => {
    const address = '198.51.100.30'
    for (let tries = 0; tries < 3; tries += 1) await ask('users/ada', { key: wiki.key, address })
    expect(await refusedKeys(address)).toEqual([{ reason: 'wrong' }])
  })

  it('is refused from the moment on at which it expires, like a wrong one', async () => {
    const address = '198.51.100.31'
    const { key } = shortLived
    expect((await ask('users/ada', { key, address })).status).toBe(404)
    await latchkey.advance(10 * minutes)
    const [expired, wrong] = [
      await ask('users/ada', { key, address }),
      await ask('users/ada', { key: wiki.key, address }),
    ]
    expect([expired.status, await expired.text()]).toEqual([wrong.status, await wrong.text()])
    expect([expired.status, expired.headers.get('www-authenticate')]).toEqual([401, 'Bearer'])
    expect(await refusedKeys(address)).toEqual([{ reason: 'expired short' }, { reason: 'wrong' }])
  })
})

describe('the file of the keys', () => {
  it.each([
    'billing',
    `${billing.line} users`,
    `${billing.line} users:read,`,
    `${billing.line} until=soon`,
    `${billing.line} until=2027-01-31T12:00:00`,
    `${billing.line} until=2027-02-31`,
    `${billing.line} until=2027-01-31 users:read`,
    `${billing.line} users:read until=2027-01-31 more`,
  ])('has no line such as %s', (line) => {
    expect(parseServiceKeys(line)).toEqual({ refused: 'malformed_line', line: 1 })
  })

  it('is read again on demand; a file with a fault changes nothing', async () => {
    expect((await ask('users/ada', { key: wiki.key })).status).toBe(401)
    await writeFile(file, `${billing.line}\n${wiki.line}`)
    await latchkey.app.reload()
    expect((await ask('users/ada', { key: wiki.key })).status).toBe(404)
    await writeFile(file, `${wiki.line}\nbilling\n`)
    await expect(latchkey.app.reload()).rejects.toThrow(/SERVICE_KEYS_FILE: line 2 of .* is not a name and the SHA-256/)
    expect((await ask('users/ada')).status).toBe(404)
    await writeFile(file, wiki.line)
    await latchkey.app.reload()
    expect((await ask('users/ada')).status).toBe(401)
  })

  it.each([
    ['is missing', undefined, /the file cannot be read: .* \(there is no such file\)/],
    ['has a name twice', `${wiki.line}\n${wiki.line}\n`, /line 2 of .* has a name that another line has/],
  ])('that %s stops the start with one sentence', async (_, text, sentence) => {
    const other = join(folder, 'other')
    if (text !== undefined) await writeFile(other, text)
    const start = startLatchkey({ settings: { SERVICE_KEYS_FILE: other } })
    await expect(start).rejects.toThrow(sentence)
  })
})
