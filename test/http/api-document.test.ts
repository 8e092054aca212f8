import { readFile } from 'node:fs/promises'
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
