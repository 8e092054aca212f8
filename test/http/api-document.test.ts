import { readdir, readFile } from 'node:fs/promises'
import { Validator } from '@seriousme/openapi-schema-validator'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { languages } from '#contract/languages.js'
import { type RefusalCode, refusalCodes, refusals } from '#contract/refusals.js'
import { catalogue } from '../../web/words/catalogue.js'
import { documentedOperations } from '../support/api-document.js'
import { addApplication } from '../support/applications.js'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'

const limitHeaders = ['Retry-After', 'RateLimit', 'RateLimit-Policy', 'RateLimit-Remaining', 'RateLimit-Reset']

let latchkey: Latchkey
beforeAll(async () => {
  latchkey = await startLatchkey({ settings: { ADMIN_GROUP: '', MAIL_SIGN_IN: 'on' } })
})
afterAll(() => latchkey.stop())

it('every route has a limiter or says why not, names what its guards refuse, and has a sentence for each refusal', () => {
  const routes = latchkey.app.routes.list()
  expect(routes.length).toBeGreaterThan(80)
  // Anything can get these before its guards are asked.
  const ofAnyRequest: readonly RefusalCode[] = ['bad_request', 'cross_site', 'not_found', 'unavailable']
  for (const { method, url, limiters, unlimited, refusals: named, guardRefusals } of routes) {
    const place = `${method} ${url}`
    expect([...limiters, unlimited].some(Boolean), `${place} has no limiter and no reason`).toBe(true)
    const statuses = new Set(named.map((code) => refusals[code].status))
    const needed = guardRefusals.filter((code) => !ofAnyRequest.includes(code) || statuses.has(refusals[code].status))
    expect(named, place).toEqual(expect.arrayContaining(needed))
    for (const language of languages)
      for (const code of named) expect(catalogue[language].refusals[code], `${language} ${code}`).toBeTruthy()
  }
})

type Sent = { method: string; url: string }

/** The core time of 30 requests in milliseconds. */
const coreTimeOf = async ({ method, url }: Sent) => {
  const headers = { host: new URL(latchkey.url).host, origin: latchkey.url }
  const before = process.cpuUsage()
  for (let time = 0; time < 30; time += 1) await latchkey.app.server.inject({ method: method as 'POST', url, headers })
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

/** The smallest core time of each, measured in turns: other work of the machine only adds to it. */
const smallestCoreTimes = async (all: readonly Sent[]) => {
  const times = all.map(() => Number.POSITIVE_INFINITY)
  for (let round = 0; round < 6; round += 1)
    for (const [index, sent] of all.entries()) times[index] = Math.min(times[index] ?? 0, await coreTimeOf(sent))
  return times
}

// A request that anyone may send, as often as they like, must cost hardly more than the smallest that we have: otherwise one client
// keeps the event loop busy, and every access check waits.
it('no route for unsafe methods is without a limiter, except a few that cost little', async () => {
  const unlimited = latchkey.app.routes.list().filter((route) => route.unlimited && route.limiters.length === 0)
  const unsafe = unlimited.filter(({ method }) => !['GET', 'HEAD'].includes(method))
  expect(unsafe.map(({ method, url }) => `${method} ${url}`).sort()).toEqual([
    'OPTIONS /.well-known/oauth-authorization-server/api/auth',
    'OPTIONS /.well-known/oauth-protected-resource',
    'OPTIONS /.well-known/oauth-protected-resource/*',
    'OPTIONS /api/auth/.well-known/openid-configuration',
    ...['device', 'revoke', 'token', 'userinfo'].map((name) => `OPTIONS /api/auth/${name}`),
    'POST /api/auth/passkey-login/options',
    'POST /api/sensitive',
  ])
  await addApplication(latchkey)
  const [smallest = 0, ...times] = await smallestCoreTimes([{ method: 'GET', url: '/health/live' }, ...unsafe])
  for (const [index, { method, url }] of unsafe.entries())
    expect((times[index] ?? 0) / smallest, `${method} ${url}`).toBeLessThan(5)
})

it('docs/openapi.json is what the routes say: run npm run docs', async () => {
  const { body } = await latchkey.browser().get('/api/openapi.json')
  const file = await readFile(new URL('../../docs/openapi.json', import.meta.url), 'utf8')
  expect(JSON.parse(file)).toEqual(body)
})

it('is OpenAPI 3.1, and every operation says what it does and how it can be refused', async () => {
  const { body } = await latchkey.browser().get('/api/openapi.json')
  expect(body.openapi).toBe('3.1.0')
  const operations = documentedOperations(body)
  expect(operations.length).toBeGreaterThan(25)
  for (const { path, method, summary, description, answers } of operations) {
    expect(summary, `${method} ${path}`).toBeTruthy()
    expect(description, `${method} ${path}`).toBeTruthy()
    expect(Object.keys(answers).length, `${method} ${path}`).toBeGreaterThan(1)
  }
})

it('passes a validator of OpenAPI, is small, and has equal answers and schemas once', async () => {
  const text = await readFile(new URL('../../docs/openapi.json', import.meta.url), 'utf8')
  const { valid, errors } = await new Validator().validate(JSON.parse(text))
  expect([valid, errors]).toEqual([true, undefined])
  const schemas = JSON.stringify(JSON.parse(text).components.schemas)
  expect(schemas.match(/"tries_used_up"/g)).toHaveLength(1)
  expect(Buffer.byteLength(JSON.stringify(JSON.parse(text)))).toBeLessThan(170_000)
  const whole = documentedOperations(JSON.parse(text)).flatMap(({ responses }) => Object.values(responses))
  const inPlace = whole.filter((answer) => !('$ref' in answer)).map((answer) => JSON.stringify(answer))
  expect(whole.length).toBeGreaterThan(3 * inPlace.length)
})

it('says for every operation its id, which is unique, and what a request needs', async () => {
  const { body } = await latchkey.browser().get('/api/openapi.json')
  const operations = documentedOperations(body)
  expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length)
  for (const { operationId, security } of operations) expect(security, operationId).toBeInstanceOf(Array)
  const byId = new Map(operations.map((each) => [each.operationId, each]))
  expect(byId.get('postLogin')?.security).toEqual([])
  expect(byId.get('getAuthMe')?.security).toEqual([{ accessToken: [] }])
  expect(byId.get('postAuthChangePassword')?.security).toEqual([{ accessToken: [], csrfToken: [] }])
})

it('says for every operation what its gates refuse, with the headers, and what each code means', async () => {
  const { body } = await latchkey.browser().get('/api/openapi.json')
  const operations = documentedOperations(body)
  const answers = (id: string) => operations.find(({ operationId }) => operationId === id)?.answers ?? {}
  expect(answers('postAuthChangePassword')['403']?.description).toContain('invalid_csrf_token')
  expect(Object.keys(answers('postAuthChangePassword'))).toEqual([
    ...['204', '400', '401', '403', '409', '422', '429', '503', 'default'],
  ])
  expect(answers('postLogin')['429']?.description).toBe('too_many_logins')
  expect(answers('postLogin')['200']?.headers).toHaveProperty('Set-Cookie')
  expect(answers('getAuthVerify')['204']?.headers).toHaveProperty('x-auth-user-id')
  expect(answers('getAuthVerify')['403']?.headers).toHaveProperty('X-Auth-Step-Up')
  const { schemas } = body.components as { schemas: { RefusalCode: { oneOf: { const: string }[] } } }
  const described = schemas.RefusalCode.oneOf.map((each) => each.const)
  for (const each of operations.filter(({ path }) => !path.startsWith('/health')))
    for (const [status, { description, headers = {} }] of Object.entries(each.answers)) {
      if (status < '400') continue
      const place = `${each.method} ${each.path} ${status}`
      if (status === 'default') expect(headers, place).toHaveProperty('X-Request-Id')
      if (status === '429') expect(Object.keys(headers), place).toEqual(expect.arrayContaining(limitHeaders))
      else expect(described, place).toEqual(expect.arrayContaining(description.split(', ')))
    }
})

it('a request gets the answers that the document names', async () => {
  const { body } = await latchkey.browser().get('/api/openapi.json')
  const operations = documentedOperations(body)
  const crossSite = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' }
  const asked: [path: string, method: string, options: RequestInit][] = [
    ['/api/auth/me', 'get', { headers: crossSite }],
    ['/api/auth/verify', 'get', { headers: crossSite }],
    ['/api/auth/logout', 'post', { headers: { 'content-type': 'text/plain' }, body: 'x' }],
    ['/api/auth/logout', 'post', { headers: crossSite }],
    ['/api/auth/register', 'post', { headers: { 'content-type': 'application/json' }, body: 'x'.repeat(20_000) }],
    ['/api/auth/sessions', 'get', {}],
  ]
  for (const [path, method, options] of asked) {
    const answer = await fetch(`${latchkey.url}${path}`, { method: method.toUpperCase(), ...options })
    const { code } = (await answer.json()) as { code: string }
    const answers = operations.find((each) => each.path === path && each.method === method)?.answers
    const named = (answers?.[answer.status] ?? answers?.default)?.description.split(', ')
    expect(named, `${method} ${path}: ${answer.status}`).toContain(code)
    expect(answer.headers.get('x-request-id')).toMatch(/^[\da-f-]{36}$/)
  }
})

it('the reference page has every operation and every code, and no script', async () => {
  const tab = latchkey.browser()
  const { body } = await tab.get('/api/openapi.json')
  const { text, headers } = await tab.get('/api/docs')
  expect(headers.get('content-type')).toBe('text/html; charset=utf-8')
  expect(text).not.toMatch(/<script|javascript:|\son\w+=|https?:\/\//)
  // On a phone, the reader begins with the text, and the cells of a table stand below each other with their names.
  expect(text).toContain('<details><summary>Contents</summary>')
  expect(text).toContain('<td data-head="Required">yes</td>')
  const paths = body.paths as Record<string, Record<string, { operationId: string }>>
  for (const operations of Object.values(paths))
    for (const { operationId } of Object.values(operations)) expect(text).toContain(`<article id="${operationId}">`)
  for (const code of refusalCodes) expect(text).toContain(`<code>${code}</code>`)
  const ids = [...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)
  expect(new Set(ids).size).toBe(ids.length)
  for (const [, target] of text.matchAll(/href="#([^"]+)"/g)) expect(ids).toContain(target)
})

// Cookies are set by code, so the document cannot know about them by itself.
it('every routes file that sets cookies says so in its schemas', async () => {
  const sources = new URL('../../src/', import.meta.url)
  const files = (await readdir(sources, { recursive: true })).filter((path) => path.endsWith('.routes.ts'))
  expect(files.length).toBeGreaterThan(15)
  for (const file of files.filter((path) => !path.startsWith('pages/'))) {
    const text = await readFile(new URL(file, sources), 'utf8')
    if (/cookies\.(set|start|renew|clear)\w*\(|csrf\.issue\(|(pendingLinkCookie|attemptCookies)\.\w+\(/.test(text))
      expect(text, file).toMatch(/'Set-Cookie'|\bSignedIn\b/)
  }
})
