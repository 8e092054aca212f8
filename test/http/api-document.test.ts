import { readdir, readFile } from 'node:fs/promises'
import { Validator } from '@seriousme/openapi-schema-validator'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'

let latchkey: Latchkey
beforeAll(async () => {
  latchkey = await startLatchkey()
})
afterAll(() => latchkey.stop())

it('docs/openapi.json is what the routes say: run npm run docs', async () => {
  const { body } = await latchkey.browser().get('/api/openapi.json')
  const file = await readFile(new URL('../../docs/openapi.json', import.meta.url), 'utf8')
  expect(JSON.parse(file)).toEqual(body)
})

it('is OpenAPI 3.1, and every operation says what it does and how it can be refused', async () => {
  const { body } = await latchkey.browser().get('/api/openapi.json')
  expect(body.openapi).toBe('3.1.0')
  const paths = Object.entries(body.paths as Record<string, Record<string, { summary?: string; responses: object }>>)
  const operations = paths.flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, each]) => ({ path, method, each })),
  )
  expect(operations.length).toBeGreaterThan(25)
  for (const { path, method, each } of operations) {
    expect(each.summary, `${method} ${path}`).toBeTruthy()
    expect(Object.keys(each.responses).length, `${method} ${path}`).toBeGreaterThan(0)
  }
})

it('passes a validator of OpenAPI, and each error schema stands once', async () => {
  const text = await readFile(new URL('../../docs/openapi.json', import.meta.url), 'utf8')
  const { valid, errors } = await new Validator().validate(JSON.parse(text))
  expect([valid, errors]).toEqual([true, undefined])
  const schemas = JSON.stringify(JSON.parse(text).components.schemas)
  expect(schemas.match(/"tries_used_up"/g)).toHaveLength(1)
})

it('says for every operation its id, which is unique, and what a request needs', async () => {
  const { body } = await latchkey.browser().get('/api/openapi.json')
  type Operation = { operationId: string; security: object[] }
  const paths = body.paths as Record<string, Record<string, Operation>>
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods))
  expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length)
  for (const { operationId, security } of operations) expect(security, operationId).toBeInstanceOf(Array)
  expect(paths['/login']?.post?.security).toEqual([])
  expect(paths['/api/auth/me']?.get?.security).toEqual([{ accessToken: [] }])
  expect(paths['/api/auth/change-password']?.post?.security).toEqual([{ accessToken: [], csrfToken: [] }])
})

type Answer = { description: string; headers?: object; content?: Record<string, { examples?: object }> }

it('says for every operation what its gates refuse, with the headers and an example for each code', async () => {
  const { body } = await latchkey.browser().get('/api/openapi.json')
  const paths = body.paths as Record<string, Record<string, { responses: Record<string, Answer> }>>
  const answers = (path: string, method: string) => paths[path]?.[method]?.responses ?? {}
  expect(answers('/api/auth/change-password', 'post')['403']?.description).toContain('invalid_csrf_token')
  expect(Object.keys(answers('/api/auth/change-password', 'post'))).toEqual([
    ...['204', '400', '401', '403', '409', '413', '415', '422', '429', '500', '503'],
  ])
  const limited = answers('/login', 'post')['429']
  expect(Object.keys(limited?.headers ?? {})).toEqual(expect.arrayContaining(['Retry-After', 'RateLimit']))
  expect(limited?.content?.['application/json']?.examples).toHaveProperty('too_many_logins')
  expect(answers('/login', 'post')['200']?.headers).toHaveProperty('Set-Cookie')
  expect(answers('/api/auth/verify', 'get')['204']?.headers).toHaveProperty('x-auth-user-id')
  expect(answers('/api/auth/verify', 'get')['403']?.headers).toHaveProperty('X-Auth-Step-Up')
  expect(answers('/api/service/users', 'get')['401']?.headers).toHaveProperty('WWW-Authenticate')
  for (const [path, operations] of Object.entries(paths))
    for (const [method, { responses }] of Object.entries(operations))
      for (const [status, { description, content }] of Object.entries(responses).filter(([each]) => each >= '400')) {
        const codes = Object.keys(content?.['application/json']?.examples ?? {})
        if (!path.startsWith('/health')) expect(codes.join(', '), `${method} ${path} ${status}`).toBe(description)
      }
})

it('a request gets the answers that the document names', async () => {
  const { body } = await latchkey.browser().get('/api/openapi.json')
  const paths = body.paths as Record<string, Record<string, { responses: Record<string, Answer> }>>
  const crossSite = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'cors', 'sec-fetch-dest': 'empty' }
  const asked: [path: string, method: string, options: RequestInit][] = [
    ['/api/auth/me', 'get', { headers: crossSite }],
    ['/api/auth/verify', 'get', { headers: crossSite }],
    ['/api/auth/logout', 'post', { headers: { 'content-type': 'text/plain' }, body: 'x' }],
    ['/api/auth/logout', 'post', { headers: crossSite }],
    ['/api/auth/register', 'post', { headers: { 'content-type': 'application/json' }, body: 'x'.repeat(20_000) }],
    ['/api/service/users', 'get', {}],
    ['/api/auth/sessions', 'get', {}],
  ]
  for (const [path, method, options] of asked) {
    const answer = await fetch(`${latchkey.url}${path}`, { method: method.toUpperCase(), ...options })
    const { code } = (await answer.json()) as { code: string }
    const named = paths[path]?.[method]?.responses[answer.status]?.description.split(', ')
    expect(named, `${method} ${path}: ${answer.status}`).toContain(code)
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
  const { examples } = body.components as { examples: Record<string, object> }
  for (const code of Object.keys(examples)) expect(text).toContain(`<code>${code}</code>`)
  const ids = [...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id)
  expect(new Set(ids).size).toBe(ids.length)
  for (const [, target] of text.matchAll(/href="#([^"]+)"/g)) expect(ids).toContain(target)
})

// Cookies are set by code, so the document cannot know about them by itself.
it('every routes file that sets cookies says so in its schemas', async () => {
  const flows = new URL('../../src/flows/', import.meta.url)
  const files = (await readdir(flows, { recursive: true })).filter((path) => path.endsWith('.routes.ts'))
  expect(files.length).toBeGreaterThan(15)
  for (const file of files.filter((path) => !path.startsWith('pages/'))) {
    const text = await readFile(new URL(file, flows), 'utf8')
    if (/cookies\.(set|start|renew|clear)\w*\(|csrf\.issue\(|(pendingLink|attemptCookies)\.\w+\(/.test(text))
      expect(text, file).toMatch(/'Set-Cookie'|\bSignedIn\b/)
  }
})
