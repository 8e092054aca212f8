import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { accessTokens, applicationTokens } from '#verify/bearer.js'
import { nodeGuard } from '#verify/node.js'
import { createVerifier, type GuardOptions, type Verifier } from '#verify/verify.js'
import { operatorClient } from '../../src/http/request-origin.js'
import { seconds } from '../../src/lib/durations.js'
import { newServiceKey } from '../../src/programs/service-keys.js'
import { addApplication } from '../support/applications.js'
import { createProtocolClient, postForm } from '../support/authorizations.js'
import type { Browser } from '../support/client.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'
import { freePort } from '../support/servers/server.js'
import { frameworks } from './guarded-applications.js'

const JWT_SECRET = 'c6M0xkq2Vw9nYb4RtL8sHd3PzJ7gFa5EuN1oKi0WvTqXyBmCrGhSlDjZfUeApIxO'
const api = newServiceKey('api', { scopes: ['revocations:read', 'tokens:read'] })
const narrow = newServiceKey('narrow', { scopes: ['revocations:read'] })

let folder: string
let latchkey: Latchkey
let verifier: Verifier
let cli: Awaited<ReturnType<typeof addApplication>>
let tab: Browser
const asked: string[] = []
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'latchkey-bearer-'))
  const SERVICE_KEYS_FILE = join(folder, 'keys')
  await writeFile(SERVICE_KEYS_FILE, `${api.line}\n${narrow.line}\n`)
  latchkey = await startLatchkey({ settings: { JWT_SECRET, SERVICE_KEYS_FILE } })
  const fetching: typeof fetch = (input, init) => {
    asked.push(String(input))
    return fetch(input, init)
  }
  verifier = createVerifier({
    publicUrl: latchkey.url,
    secret: JWT_SECRET,
    revocations: { serviceKey: api.key },
    now: () => latchkey.clock.now().getTime(),
    fetch: fetching,
    onProblem: () => {},
  })
  await verifier.ready()
  await latchkey.app.rooms.groups.add('staff', operatorClient('root'))
  const native = { kind: 'native', home: 'http://127.0.0.1/', redirectAddresses: ['http://127.0.0.1/cb'] } as const
  cli = await addApplication(latchkey, { ...native, name: 'Command line', deviceFlow: true })
  tab = await latchkey.signedUp('ada')
})
afterAll(async () => {
  verifier?.close()
  await latchkey?.stop()
  await rm(folder, { recursive: true, force: true })
})

const guarded = async (options: GuardOptions) => {
  const guard = nodeGuard(verifier, options)
  const server = createServer(async (request, response) => {
    const decision = await guard(request, response)
    if (decision.goOn) response.end(decision.auth?.user.username ?? 'nobody')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const ask = async (headers: Record<string, string> = {}) => {
    const answer = await fetch(url, { headers, redirect: 'manual' })
    return [answer.status, answer.headers.get('www-authenticate'), await answer.text()] as const
  }
  return { url, ask, stop: () => server.close() }
}

const approve = async (code: string) => {
  const { user } = (await tab.post('/api/auth/device/question', { code }, { csrf: true })).body as {
    user: { id: string }
  }
  const answered = await tab.post('/api/auth/device/answer', { code, user: user.id, answer: 'approve' }, { csrf: true })
  expect(answered.body.next).toBe('approved')
}
const deviceTokens = async (scope = 'openid profile email groups') => {
  const { body } = await postForm(latchkey.url, '/api/auth/device', { client_id: cli.id, scope })
  await approve(body.user_code ?? '')
  const grant_type = 'urn:ietf:params:oauth:grant-type:device_code'
  const form = { grant_type, device_code: body.device_code ?? '', client_id: cli.id }
  return (await postForm(latchkey.url, '/api/auth/token', form)).body
}
const bearer = (token = '') => ({ authorization: `Bearer ${token}` })
const refusal = expect.stringContaining('not_authenticated')
const invalid = [401, 'Bearer error="invalid_token"', refusal]

it('without the option, a header is no session', async () => {
  const { ask, stop } = await guarded({})
  expect(await ask(bearer(tab.jar.get('access_token')))).toEqual([401, null, refusal])
  expect(await ask({ ...bearer('x'), cookie: tab.jar.header() })).toEqual([200, null, 'ada'])
  stop()
})

it('a token of Latchkey in the header stands in for the cookie, and never beside it', async () => {
  const { ask, stop } = await guarded({ bearer: accessTokens() })
  const token = tab.jar.get('access_token') ?? ''
  expect(await ask(bearer(token))).toEqual([200, null, 'ada'])
  expect(await ask({ authorization: `bearer   ${token}` })).toEqual([200, null, 'ada'])
  expect(await ask()).toEqual([401, 'Bearer', refusal])
  for (const header of ['Bearer', 'Bearer x', `Bearer ${token}x`, `Bearer ${token}, Bearer ${token}`])
    expect(await ask({ authorization: header, cookie: tab.jar.header() })).toEqual(invalid)
  expect(await ask({ ...bearer(tab.jar.get('refresh_token')), cookie: tab.jar.header() })).toEqual(invalid)
  // Another scheme is not for us. A program is never sent to a page.
  expect(await ask({ authorization: 'Basic x', cookie: tab.jar.header() })).toEqual([200, null, 'ada'])
  expect(await ask({ ...bearer('x'), 'sec-fetch-mode': 'navigate' })).toEqual(invalid)
  stop()
})

it('an optional guard refuses a bad token too, and a condition is a 403 for programs', async () => {
  const open = await guarded({ bearer: accessTokens(), optional: true })
  expect(await open.ask()).toEqual([200, null, 'nobody'])
  expect(await open.ask(bearer('x'))).toEqual(invalid)
  open.stop()
  const staff = await guarded({ bearer: accessTokens(), group: 'staff' })
  const headers = { ...bearer(tab.jar.get('access_token')), accept: 'text/html' }
  expect(await staff.ask(headers)).toEqual([403, null, expect.stringContaining('group_required')])
  staff.stop()
})

it.each(Object.entries(frameworks))(
  'a guard for %s takes a token in the header, and answers others',
  async (_, start) => {
    const { url, stop } = await start(verifier, { bearer: accessTokens() })
    const ask = async (headers: Record<string, string> = {}) => {
      const answer = await fetch(`${url}/area/x`, { headers, redirect: 'manual' })
      return [answer.status, answer.headers.get('www-authenticate'), await answer.text()]
    }
    expect(await ask(bearer(tab.jar.get('access_token')))).toEqual([200, null, '{"user":"ada"}'])
    expect(await ask({ ...bearer('x'), cookie: tab.jar.header() })).toEqual(invalid)
    expect(await ask()).toEqual([401, 'Bearer', refusal])
    await stop()
  },
)

it('a token of a named application is asked for once in ten seconds, and ends with the session of its device', async () => {
  const check = applicationTokens({ serviceKey: api.key, applications: [cli.id] })
  const { ask, stop } = await guarded({ bearer: check })
  const staff = await guarded({ bearer: check, group: 'staff' })
  const { access_token, refresh_token } = await deviceTokens()
  asked.length = 0
  for (let times = 0; times < 5; times += 1) expect(await ask(bearer(access_token))).toEqual([200, null, 'ada'])
  const questions = () => asked.filter((url) => url.endsWith('/api/service/token')).length
  expect(questions()).toBe(1)
  expect((await staff.ask(bearer(access_token)))[0]).toBe(403)
  await latchkey.sql.query("update users set groups = '{staff}' where username = 'ada'")
  await latchkey.advance(11 * seconds)
  expect((await staff.ask(bearer(access_token)))[0]).toBe(200)
  expect(await ask(bearer(tab.jar.get('access_token')))).toEqual(invalid)
  expect(await ask(bearer(refresh_token))).toEqual(invalid)
  expect(await ask(bearer('x'.repeat(43)))).toEqual(invalid)
  // The guard learns of the end before the ten seconds are over, from the list of ended sessions.
  await postForm(latchkey.url, '/api/auth/revoke', { token: refresh_token ?? '', client_id: cli.id })
  await expect.poll(async () => (await ask(bearer(access_token)))[0]).toBe(401)
  stop()
  staff.stop()
})

it('an API learns what the user shares with the application, and no more', async () => {
  const headers = { ...bearer(api.key), 'content-type': 'application/json' }
  const stateOf = async (token = '') => {
    const body = JSON.stringify({ token })
    return (await fetch(`${latchkey.url}/api/service/token`, { method: 'POST', headers, body })).json()
  }
  const { user } = (await tab.get('/api/auth/me')).body as { user: { id: string } }
  const tokens = await deviceTokens('openid profile email groups')
  const [number, text] = [expect.any(Number), expect.any(String)]
  const session = { sid: text, iat: number, exp: number, gen: number, auth_time: number, amr: ['pwd'] }
  const claims = { userId: user.id, sub: user.id, iss: latchkey.url, aud: latchkey.url, ...session }
  const answer = { active: true, application: cli.id }
  expect(await stateOf(tokens.access_token)).toEqual({
    ...answer,
    scope: 'openid profile email groups',
    claims: { ...claims, username: 'ada', email: 'ada@example.com', groups: expect.any(Array) },
  })
  expect(await stateOf((await deviceTokens('openid')).access_token)).toEqual({ ...answer, scope: 'openid', claims })
  const narrowed = await postForm(latchkey.url, '/api/auth/token', {
    grant_type: 'refresh_token',
    refresh_token: tokens.refresh_token ?? '',
    client_id: cli.id,
    scope: 'openid groups',
  })
  expect(await stateOf(narrowed.body.access_token)).toEqual({
    ...answer,
    scope: 'openid groups',
    claims: { ...claims, groups: expect.any(Array) },
  })
  expect(await stateOf('x'.repeat(43))).toEqual({ active: false })
})

it('a guard refuses a token with too few scopes, and says which it needs', async () => {
  const guardFor = (scopes?: string[]) =>
    guarded({
      bearer: applicationTokens({ serviceKey: api.key, applications: [cli.id], ...(scopes && { scopes }) }),
    })
  const needs = (scope: string) => [
    403,
    `Bearer error="insufficient_scope", scope="${scope}"`,
    expect.stringContaining('"code":"insufficient_scope"'),
  ]
  const [usual, withGroups] = [await guardFor(), await guardFor(['groups'])]
  const { access_token: few } = await deviceTokens('openid email')
  expect(await usual.ask(bearer(few))).toEqual(needs('openid profile'))
  // Remembered as it was, for ten seconds.
  expect(await usual.ask(bearer(few))).toEqual(needs('openid profile'))
  const { access_token: names } = await deviceTokens('openid profile')
  expect(await usual.ask(bearer(names))).toEqual([200, null, 'ada'])
  expect(await withGroups.ask(bearer(names))).toEqual(needs('openid profile groups'))
  const { access_token: all } = await deviceTokens()
  expect(await withGroups.ask(bearer(all))).toEqual([200, null, 'ada'])
  const options = { serviceKey: api.key, applications: [cli.id] }
  for (const scopes of ['groups', undefined, [''], ['a b'], ['"']])
    expect(() => applicationTokens({ ...options, scopes: scopes as string[] })).toThrow('scopes')
  usual.stop()
  withGroups.stop()
})

it('random tokens use up neither the checks of good ones nor the list of ended sessions', async () => {
  const headers = { ...bearer(api.key), 'content-type': 'application/json' }
  const body = JSON.stringify({ token: 'x'.repeat(43) })
  const check = async () => (await fetch(`${latchkey.url}/api/service/token`, { method: 'POST', headers, body })).status
  for (let round = 0; round < 7; round += 1)
    expect(new Set(await Promise.all(Array.from({ length: 100 }, check)))).toEqual(new Set([200]))
  expect((await fetch(`${latchkey.url}/api/service/revocations`, { headers: bearer(api.key) })).status).toBe(200)
})

it('a token that another application got for the same user is refused', async () => {
  const web = await addApplication(latchkey, { name: 'Web' })
  const { readyCode, token } = createProtocolClient(() => ({ latchkey, application: web }))
  const { access_token } = (await token(await readyCode())).body
  const own = await guarded({ bearer: applicationTokens({ serviceKey: api.key, applications: [cli.id] }) })
  expect(await own.ask(bearer(access_token))).toEqual(invalid)
  own.stop()
  const both = await guarded({ bearer: applicationTokens({ serviceKey: api.key, applications: [cli.id, web.id] }) })
  expect(await both.ask(bearer(access_token))).toEqual([200, null, 'ada'])
  both.stop()
})

it('a key without the scope, and a service that is away, are a 503 and no refusal', async () => {
  const { access_token } = await deviceTokens()
  const { ask, stop } = await guarded({ bearer: applicationTokens({ serviceKey: narrow.key, applications: [cli.id] }) })
  expect(await ask(bearer(access_token))).toEqual([503, null, expect.stringContaining('unavailable')])
  stop()
  expect(() => applicationTokens({ serviceKey: api.key, applications: [] })).toThrow('applications')
  expect(() => applicationTokens({ serviceKey: 'short', applications: [cli.id] })).toThrow('serviceKey')
})

const startExample = (file: 'api.mjs' | 'cli.mjs', env: Record<string, string>, ...args: string[]) => {
  const path = fileURLToPath(new URL(`../../examples/cli/${file}`, import.meta.url))
  const program = spawn(process.execPath, [path, ...args], {
    env: { PATH: process.env.PATH, CLIENT_ID: cli.id, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  return { program, lines: createInterface(program.stdout)[Symbol.asyncIterator]() }
}

/** The lines that the example writes about a failure, and its exit code. */
const failureOf = async ({ program }: ReturnType<typeof startExample>) => {
  const said: string[] = []
  for await (const line of createInterface(program.stderr)) said.push(line)
  return [said, program.exitCode ?? (await once(program, 'exit'))[0]]
}

it('the command-line example signs in with a code, calls the API beside it, comes again without one, and signs out', async () => {
  const PORT = String(await freePort())
  const server = startExample('api.mjs', { PORT, LATCHKEY_URL: latchkey.url, JWT_SECRET, SERVICE_KEY: api.key })
  expect((await server.lines.next()).value).toBe(`The API listens on port ${PORT}`)
  const API_URL = `http://127.0.0.1:${PORT}/`
  const TOKEN_FILE = join(folder, 'token')
  const env = { ISSUER: `${latchkey.url}/api/auth`, API_URL, TOKEN_FILE }
  const devices = async () => {
    const sessions = (await tab.get('/api/auth/sessions')).body.sessions as { id: string; application: string | null }[]
    return sessions.filter(({ application }) => application !== null).map(({ id }) => id)
  }
  const before = await devices()
  const run = (...args: string[]) => startExample('cli.mjs', env, ...args).lines
  const first = run()
  const [, code = ''] = /enter (\S+)$/.exec(String((await first.next()).value)) ?? []
  await approve(code)
  expect((await first.next()).value).toBe('200 Hello ada')
  expect((await run().next()).value).toBe('200 Hello ada')
  expect((await fetch(API_URL)).status).toBe(401)
  expect(await (await fetch(API_URL, { headers: { cookie: tab.jar.header() } })).text()).toBe('Hello ada\n')
  // Nothing listens at this address: the stored token is kept, and no new sign-in begins.
  const kept = await readFile(TOKEN_FILE, 'utf8')
  const away = startExample('cli.mjs', { ...env, ISSUER: 'http://127.0.0.1:9/api/auth' })
  expect(await failureOf(away)).toEqual([[expect.stringContaining('cannot be reached')], 1])
  expect(await readFile(TOKEN_FILE, 'utf8')).toBe(kept)
  expect((await run('sign-out').next()).value).toBe('Signed out')
  const again = await failureOf(startExample('cli.mjs', env, 'sign-out'))
  expect(again).toEqual([['This did not work: You are not signed in'], 1])
  expect(await devices()).toEqual(before)
  server.program.kill()
})

it('every change of the groups counts at once for a device, also the second one', async () => {
  const check = applicationTokens({ serviceKey: api.key, applications: [cli.id] })
  const staff = await guarded({ bearer: check, group: 'staff' })
  const { access_token } = await deviceTokens()
  for (const [groups, status] of [
    ['{}', 403],
    ['{staff}', 200],
    ['{}', 403],
    ['{staff}', 200],
  ] as const) {
    await latchkey.sql.transaction(async (sql) => {
      const [user] = await sql.query<{ id: string }>(
        "update users set groups = $1 where username = 'ada' returning id",
        [groups],
      )
      await latchkey.app.rooms.sessions.giveGroups(sql, user?.id ?? '')
    })
    await expect.poll(async () => (await staff.ask(bearer(access_token)))[0], { timeout: 5_000 }).toBe(status)
  }
  staff.stop()
})
