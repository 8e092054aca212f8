import { readFile } from 'node:fs/promises'
import { expect, it, onTestFinished, vi } from 'vitest'
import { createClient } from './client.js'

/** What is no call of a page: browsers go there, proxies ask it, or the client does it by itself. */
const others = [
  'GET /api/auth/verify',
  'GET /api/auth/forward',
  'GET /api/auth/csrf-token',
  'POST /api/auth/refresh',
  // Of our own pages: the first start, and a user who does not agree to the terms.
  'POST /api/auth/setup',
  'GET /api/auth/second-factor/export',
  'POST /api/auth/second-factor/delete',
]
const isNavigation = (operation: string) => /^GET \/api\/auth\/provider-[a-z](\/callback)?$/.test(operation)

type ApiDocument = { paths: Record<string, Record<string, unknown>> }

const operations = async () => {
  const document = new URL('../../../docs/openapi.json', import.meta.url)
  const { paths } = JSON.parse(await readFile(document, 'utf8')) as ApiDocument
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  )
}

/** What the client sends when every call of it is made once. */
const sentByAllCalls = async () => {
  const sent: string[] = []
  const fetch = async (input: string | URL | Request, init: RequestInit = {}) => {
    sent.push(`${init.method} ${String(input).replace(/\?.*/, '')}`)
    return String(input).includes('/csrf-token') ? Response.json({ csrfToken: 'token' }) : new Response('{"user":{}}')
  }
  const { onChange, fetch: _, signInUrl, ...calls } = createClient({ fetch })
  // Each call takes a provider or an id, or a body, or neither.
  const anyone = Object.values(calls) as ((...args: unknown[]) => Promise<unknown>)[]
  for (const call of anyone) await call('provider_a', {})
  return sent
}

it('has every call in its README, and no other', async () => {
  const text = await readFile(new URL('../README.md', import.meta.url), 'utf8')
  const [, section = ''] = /## Calls\n\n((?:\|.*\n)+)/.exec(text) ?? []
  const cells = [...section.matchAll(/^\| .* \| (.*) \|$/gm)].map(([, calls = '']) => calls)
  const listed = cells.flatMap((calls) => [...calls.matchAll(/`(\w+)`/g)].map(([, call]) => call))
  const { onChange, fetch, signInUrl, ...calls } = createClient()
  expect(listed.sort()).toEqual(Object.keys(calls).sort())
})

it('has a call for every operation of the API that a page can use, and no other', async () => {
  const known = (await operations())
    .filter((operation) => operation.includes(' /api/auth/') && !isNavigation(operation))
    .map((operation) => ({ operation, pattern: new RegExp(`^${operation.replaceAll(/\{\w+\}/g, '[\\w-]+')}$`) }))
  const sent = await sentByAllCalls()
  const called = known.filter(({ pattern }) => sent.some((each) => pattern.test(each)))

  const missing = known.filter((each) => !called.includes(each)).map(({ operation }) => operation)
  expect(missing.filter((operation) => !others.includes(operation))).toEqual([])
  expect(sent.filter((each) => !known.some(({ pattern }) => pattern.test(each)))).toEqual([])
})

it('leads from the sign-in page back to a page of its own host, also from another host than that of the service', () => {
  vi.stubGlobal('location', new URL('https://app.example.com/notes?by=day#x'))
  onTestFinished(() => void vi.unstubAllGlobals())
  const [beside, onOneHost] = [createClient({ baseUrl: 'https://auth.example.com/' }), createClient()]
  const login = (returnTo: string) => `/login?returnTo=${encodeURIComponent(returnTo)}`
  expect([onOneHost.signInUrl(), onOneHost.signInUrl('/a')]).toEqual([login('/notes?by=day#x'), login('/a')])
  const app = 'https://app.example.com'
  expect([undefined, '/a', `${app}/b`].map((returnTo) => beside.signInUrl(returnTo))).toEqual(
    [`${app}/notes?by=day#x`, `${app}/a`, `${app}/b`].map((place) => `https://auth.example.com${login(place)}`),
  )
  // From an address bar: no error, and no other host.
  expect(['//', '//evil.example', 'https://'].map((returnTo) => beside.signInUrl(returnTo))).toEqual(
    [`${app}//`, `${app}//evil.example`, 'https://'].map((place) => `https://auth.example.com${login(place)}`),
  )
})
