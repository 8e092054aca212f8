import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { serviceScopes } from '#contract/service.js'
import { newServiceKey } from '../../src/programs/service-keys.js'
import { signedUpInGroup } from '../support/administrators.js'
import { addApplication } from '../support/applications.js'
import { addAuthenticator } from '../support/authenticator.js'
import { basic, postForm } from '../support/authorizations.js'
import type { Browser } from '../support/client.js'
import { freshPostgres } from '../support/databases.js'
import { createEmailChanges } from '../support/email-changes.js'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'
import { secretsIn } from '../support/mail-login.js'
import { openidApplication } from '../support/openid-application.js'
import { createPasskey } from '../support/passkey.js'
import { type RoundTrip, recordStores } from '../support/recorded-stores.js'

// How often each request waits for a store, on the way on which all goes well. `ROUND_TRIPS=write npm test -- test/http/round-trips` writes
// the table anew.

const otherPassword = 'copper-Lagoon-47-meadow'
const program = newServiceKey('billing', { scopes: serviceScopes })

let folder: string
let database: Awaited<ReturnType<typeof freshPostgres>>
let stores: Awaited<ReturnType<typeof recordStores>>
let latchkey: Latchkey
/** Without Redis: its counters are in PostgreSQL. */
let alone: Latchkey
let notes: Awaited<ReturnType<typeof openidApplication>>
let tv: Awaited<ReturnType<typeof addApplication>>
let root: Awaited<ReturnType<typeof signedUpInGroup>>
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'latchkey-round-trips-'))
  const SERVICE_KEYS_FILE = join(folder, 'keys')
  await writeFile(SERVICE_KEYS_FILE, `${program.line}\n`)
  database = await freshPostgres()
  stores = await recordStores({ databaseUrl: database.url, redisUrl: String(process.env.TEST_REDIS_URL) })
  const redis = { REDIS_URL: stores.redisUrl, REDIS_PREFIX: `${database.url}:` }
  // With few connections, each has prepared its statements early. Both instances open what the other has sealed.
  const JWT_SECRET = randomBytes(48).toString('hex')
  const recorded = { DATABASE_URL: stores.databaseUrl, DATABASE_POOL: '3', JWT_SECRET }
  const settings = { ...recorded, ...redis, SERVICE_KEYS_FILE, MAIL_SIGN_IN: 'on', ADMIN_GROUP: 'admins' }
  latchkey = await startLatchkey({ settings })
  alone = await startLatchkey({ settings: { ...recorded, REDIS_URL: '' } })
  notes = await openidApplication(latchkey)
  const device = { kind: 'native', home: 'tv.example:/', redirectAddresses: ['tv.example:/cb'] } as const
  tv = await addApplication(latchkey, { name: 'Television', ...device, deviceFlow: true })
  root = await signedUpInGroup(latchkey, 'root1', 'admins')
})
afterAll(async () => {
  await latchkey.stop()
  await alone.stop()
  await stores.close()
  await database.drop()
  await rm(folder, { recursive: true })
})

/** What goes on beside the requests: senders of mails, the list of ended sessions, the look for the first application. */
const beside = [
  /^update outgoing_mail/,
  /^delete from outgoing_mail/,
  /insert into events .* mail_(accepted|refused|given_up)/,
  /^select pg_advisory_xact_lock_shared/,
  /^with news as/,
  /^select a\.id from applications as a where exists \( select 1 from logout/,
  /^select clock\.now, clock\.algorithms/,
  /^select exists \(select 1 from applications\)/,
]
const isBeside = (asked: string) => beside.some((pattern) => pattern.test(asked.replaceAll(/\s+/g, ' ').trim()))
const isOfRequest = ({ asked }: RoundTrip) => asked.some((each) => !isBeside(each) && each !== 'begin')

type Counts = { postgres: number; redis: number }
const aloneSection = 'Without Redis: '
const counts = new Map<string, Counts>()

const quietMs = 25
const untilQuiet = async () => {
  for (let before = -1; before !== stores.seen.length; ) {
    before = stores.seen.length
    await wait(quietMs)
  }
}

type Status = { status: number }
/** Counts one request. Whatever else happens meanwhile can only add to it, so the fewest of several times is right. */
const count = async <Answer extends Status | object>(route: string, send: () => Promise<Answer>): Promise<Answer> => {
  await untilQuiet()
  stores.seen.length = 0
  const answer = await send()
  if ('status' in answer && typeof answer.status === 'number' && answer.status >= 400 && !/wrong|unknown/.test(route))
    throw new Error(`${route}: ${JSON.stringify(answer)}`)
  await untilQuiet()
  const ofRequest = stores.seen.filter(isOfRequest)
  if (process.env.SHOW_ROUND_TRIPS === route) console.log(ofRequest)
  const known = counts.get(route)
  const fewest = (store: RoundTrip['store']) =>
    Math.min(ofRequest.filter((trip) => trip.store === store).length, known?.[store] ?? Number.POSITIVE_INFINITY)
  counts.set(route, { postgres: fewest('postgres'), redis: fewest('redis') })
  return answer
}

type Method = 'POST' | 'PATCH' | 'DELETE' | 'GET'
/** A request of a page, with the token that it has fetched before. */
const act = async (tab: Browser, route: `${Method} ${string}`, body?: object, path = route.split(' ')[1]) => {
  const headers = { 'x-csrf-token': await tab.csrfToken() }
  const [method = ''] = route.split(' ')
  return count(route, () => tab.send(method, String(path), body, { headers }))
}
const get = (tab: Browser, path: string) => count(`GET ${path}`, () => tab.get(path))

const tokenIn = async (email: string, pattern: RegExp) => {
  const { text } = await latchkey.mailTo(email, pattern)
  return /#token=([\w-]+)/.exec(text)?.[1] ?? ''
}

const signIn = (username: string, tab = latchkey.browser(), password = goodPassword) =>
  tab.post('/login', { username, password })

const registrations = async (name: string) => {
  const email = `${name}@example.com`
  const tab = latchkey.browser()
  const form = { username: name, email, password: goodPassword }
  await count('POST /api/auth/register', () => tab.post('/api/auth/register', form))
  const token = await tokenIn(email, /verify-email#token=/)
  await count('POST /api/auth/verify-email/check', () => tab.post('/api/auth/verify-email/check', { token }))
  await count('POST /api/auth/verify-email', () => tab.post('/api/auth/verify-email', { token }))
}

/** The requests whose speed is noticed most. `section` says where they are written. */
const mostFrequent = async (on: Latchkey, name: string, section = '') => {
  const tab = await on.signedUp(name)
  const known = on.browser()
  const login = (of: Browser, username = name, password = goodPassword) => of.post('/login', { username, password })
  await login(known)
  for (const name of [...known.jar.keys()]) if (!/device|known/.test(name)) known.jar.delete(name)
  await count(`${section}POST /login, a known device`, () => login(known))
  await count(`${section}POST /login, a new device`, () => login(on.browser()))
  await count(`${section}POST /login, a wrong password`, () => login(on.browser(), name, 'wrong'))
  await count(`${section}POST /login, an unknown name`, () => login(on.browser(), 'nobody'))
  await count(`${section}POST /api/auth/refresh`, () => tab.post('/api/auth/refresh'))
  return tab
}

const withoutRedis = async (name: string) => {
  await mostFrequent(alone, name, aloneSection)
}

const signIns = async (name: string) => {
  const tab = await mostFrequent(latchkey, name)
  for (const path of [
    'me',
    'verify',
    'csrf-token',
    'account',
    'sessions',
    'events',
    'export',
    'factors',
    'applications',
  ])
    await get(tab, `/api/auth/${path}`)
  await act(tab, 'POST /api/auth/logout')
}

const changes = async (name: string) => {
  const tab = await latchkey.signedUp(name)
  const [email, other] = [`${name}@example.com`, `${name}@example.org`]
  await act(tab, 'PATCH /api/auth/account', { name: 'Somebody' })
  await act(tab, 'POST /api/auth/step-up', { password: goodPassword })
  await act(tab, 'POST /api/auth/change-password', { currentPassword: goodPassword, newPassword: otherPassword })
  await act(tab, 'POST /api/auth/email', { email: other })
  const token = await createEmailChanges(latchkey).confirmToken(other)
  await count('POST /api/auth/email/check', () => tab.post('/api/auth/email/check', { token }))
  await count('POST /api/auth/email/confirm', () => tab.post('/api/auth/email/confirm', { token }))
  const undo = await createEmailChanges(latchkey).undoToken(email, /was changed/)
  await count('POST /api/auth/undo/check', () => tab.post('/api/auth/undo/check', { token: undo }))
  await count('POST /api/auth/email/undo', () => tab.post('/api/auth/email/undo', { token: undo }))
  const stranger = latchkey.browser()
  await count('POST /reset-password', () => stranger.post('/reset-password', { email }))
  const reset = { token: await tokenIn(email, /reset-password#token=/), password: goodPassword }
  await count('POST /api/auth/reset-password/check', () => stranger.post('/api/auth/reset-password/check', reset))
  await count('POST /api/auth/reset-password/confirm', () => stranger.post('/api/auth/reset-password/confirm', reset))
  await signIn(name, tab)
  await act(tab, 'POST /api/auth/logout-all')
  await signIn(name, tab)
  await act(tab, 'POST /api/auth/delete-account', { username: name })
}

const factors = async (name: string) => {
  const tab = await latchkey.signedUp(name)
  const { body: begun } = await act(tab, 'POST /api/auth/totp')
  expect(begun.secret).toBeDefined()
  const app = await addAuthenticator(tab, latchkey)
  const other = latchkey.browser()
  await count('POST /login, with a second step', () => signIn(name, other))
  await get(other, '/api/auth/second-factor')
  await act(other, 'POST /api/auth/second-factor', { code: app.code() })
  await act(tab, 'POST /api/auth/recovery-codes')
  const { body: options } = await act(tab, 'POST /api/auth/passkeys/options')
  const passkey = createPasskey(latchkey.url)
  const { body: added } = await act(tab, 'POST /api/auth/passkeys', {
    credential: passkey.create(options),
    name: 'Phone',
  })
  const stranger = latchkey.browser()
  const begin = '/api/auth/passkey-login/options'
  const { body: asked } = await count(`POST ${begin}`, () => stranger.post(begin))
  const credential = passkey.get(asked)
  await count('POST /api/auth/passkey-login', () => stranger.post('/api/auth/passkey-login', { credential }))
  await act(tab, 'DELETE /api/auth/passkeys/{id}', undefined, `/api/auth/passkeys/${added.id}`)
  await act(tab, 'DELETE /api/auth/totp')
}

const mailSignIns = async (name: string) => {
  const email = `${name}@example.com`
  await latchkey.signedUp(name)
  const tab = latchkey.browser()
  await count('POST /api/auth/mail-login', () => tab.post('/api/auth/mail-login', { email }))
  const { code } = secretsIn((await latchkey.mailTo(email, /login#mail=/)).text)
  await count('POST /api/auth/mail-login/confirm', () => tab.post('/api/auth/mail-login/confirm', { code }))
}

const applications = async (name: string) => {
  const tab = await latchkey.signedUp(name)
  const { id, secret } = notes.application
  const token = (form: Record<string, string>) =>
    postForm(latchkey.url, '/api/auth/token', form, basic(id, secret)) as Promise<{
      status: number
      body: Record<string, string>
    }>
  await notes.signIn(tab)
  const asked = await count('POST /api/auth/authorization', () => notes.ask(tab))
  const tokens = await count('POST /api/auth/token, a code', () => notes.redeem(asked))
  const refresh = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token ?? '' }
  const { body } = await count('POST /api/auth/token, a refresh token', () => token(refresh))
  const headers = { authorization: `Bearer ${body.access_token}` }
  await count('GET /api/auth/userinfo', () => fetch(`${latchkey.url}/api/auth/userinfo`, { headers }))
  const given = { token: String(body.refresh_token) }
  await count('POST /api/auth/revoke', () => postForm(latchkey.url, '/api/auth/revoke', given, basic(id, secret)))
  await device(tab)
}

const device = async (tab: Browser) => {
  const begin = () => postForm(latchkey.url, '/api/auth/device', { client_id: tv.id, scope: 'openid' })
  const { body } = await count('POST /api/auth/device', begin)
  const { user_code: code = '', device_code = '' } = body
  const { body: question } = await act(tab, 'POST /api/auth/device/question', { code })
  const { user } = question as { user: { id: string } }
  await act(tab, 'POST /api/auth/device/answer', { code, user: user.id, answer: 'approve' })
  const grant = { grant_type: 'urn:ietf:params:oauth:grant-type:device_code', device_code, client_id: tv.id }
  await count('POST /api/auth/token, a device', () => postForm(latchkey.url, '/api/auth/token', grant))
}

const administrators = async (name: string) => {
  await latchkey.signedUp(name)
  const { tab } = root
  await root.prove()
  const home = '/api/auth/admin/api'
  const { body: found } = await act(tab, `POST ${home}/users/search`, { search: name })
  const [user] = found.users as { id: string }[]
  const of = `${home}/users/${user?.id}`
  const reason = { reason: 'as asked' }
  await get(tab, `${home}/users`)
  await get(tab, `${home}/overview`)
  await get(tab, `${home}/events`)
  await count(`GET ${home}/users/{id}`, () => tab.get(of))
  for (const action of ['disable', 'enable', 'end-sessions', 'lock-down'] as const)
    await act(tab, `POST ${home}/users/{id}/${action}`, reason, `${of}/${action}`)
}

const programs = async (name: string) => {
  const tab = await latchkey.signedUp(name)
  const { user } = (await tab.get('/api/auth/me')).body as { user: { id: string } }
  const headers = { authorization: `Bearer ${program.key}` }
  const send = (method: string, path: string, body?: object) =>
    fetch(`${latchkey.url}/api/service/${path}`, {
      method,
      headers: { ...headers, ...(body && { 'content-type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    })
  const token = [...tab.jar].find(([cookie]) => cookie.includes('access'))?.[1] ?? ''
  await count('POST /api/service/token', () => send('POST', 'token', { token }))
  await count('GET /api/service/users/{id}', () => send('GET', `users/${user.id}`))
  await count('GET /api/service/users', () => send('GET', 'users'))
  await count('POST /api/service/users/{id}/sign-out', () => send('POST', `users/${user.id}/sign-out`))
  await count('GET /api/service/revocations', () => send('GET', 'revocations'))
}

const journeys = {
  registrations,
  signIns,
  changes,
  factors,
  mailSignIns,
  applications,
  administrators,
  programs,
  withoutRedis,
}

/** The first time prepares statements and fills memories. */
const leastTimes = 4
/** Statements that answers of the store let go leave together only if these answers come together, so the fewest may take some more times. */
const mostTimes = 12

const head = `# Round trips

How often a request waits for a store, on the way on which all goes well, in a process that has been running for a while. Statements of a
transaction that are sent together are one round trip. Mails and webhooks are sent afterwards. \`Without Redis\` the limits count in PostgreSQL,
too. This table is generated, and a test fails if a request needs more.

| request | PostgreSQL | Redis |
|---|---:|---:|
`

const file = new URL('../../docs/benchmarks.md', import.meta.url)

const readTable = async () => {
  const table = await readFile(file, 'utf8')
  const rows = table.matchAll(/^\| `(.+)` \| (\d+) \| (\d+) \|$/gm)
  return new Map(
    Array.from(rows, ([, route = '', postgres, redis]) => [
      route,
      { postgres: Number(postgres), redis: Number(redis) },
    ]),
  )
}

it('no request needs more round trips than the table says', async () => {
  const isWritten = process.env.ROUND_TRIPS === 'write'
  const allowed = await readTable()
  const isMore = ([route, { postgres, redis }]: [string, Counts]) => {
    const most = allowed.get(route)
    return !most || postgres > most.postgres || redis > most.redis
  }
  const needMore = () => [...counts].filter(isMore)
  for (let time = 0; time < leastTimes || (!isWritten && time < mostTimes && needMore().length > 0); time += 1)
    for (const [name, journey] of Object.entries(journeys)) await journey(`${name.toLowerCase()}${time}`)
  const rows = [...counts].map(([route, { postgres, redis }]) => `| \`${route}\` | ${postgres} | ${redis} |\n`)
  if (isWritten) await writeFile(file, `${head}${rows.join('')}`)
  else expect({ routes: [...allowed.keys()], more: needMore() }).toEqual({ routes: [...counts.keys()], more: [] })
})
