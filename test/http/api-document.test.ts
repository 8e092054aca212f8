import { readFile } from 'node:fs/promises'
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
  expect(text.match(/"tries_used_up"/g)).toHaveLength(1)
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
