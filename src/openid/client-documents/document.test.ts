import { describe, expect, it } from 'vitest'
import { documentHosts } from '../../settings/document-hosts.js'
import { freshFor, isAllowedDocument, isJsonType, readDocument } from './document.js'

const id = 'https://claude.ai/oauth/program.json'
const text = (changed: object = {}) =>
  JSON.stringify({ client_id: id, client_name: 'Helper', redirect_uris: ['https://claude.ai/callback'], ...changed })

describe('which documents may be fetched', () => {
  const hosts = documentHosts('claude.ai,Files.example.com:8443/programs/')

  it.each([
    [id, true],
    ['https://files.example.com:8443/programs/a.json', true],
    ['https://files.example.com:8443/programs/a/b.json', true],
    // The host is another one.
    ['https://claude.ai.example.com/x', false],
    ['https://www.claude.ai/x', false],
    ['https://claude.ai:8443/x', false],
    ['https://files.example.com/programs/a.json', false],
    // The path is not below the one of the list, or may be another one for the server.
    ['https://files.example.com:8443/other.json', false],
    ['https://files.example.com:8443/programs', false],
    ['https://files.example.com:8443/programs/../other.json', false],
    ['https://files.example.com:8443/programs/%2e%2e/other.json', false],
    ['https://files.example.com:8443/programs/..%2fother.json', false],
    ['https://files.example.com:8443/programs/..%5Cother.json', false],
    ['https://files.example.com:8443/programs/..;/other.json', false],
    ['https://files.example.com:8443/programs/a;b.json', false],
    ['https://files.example.com:8443/programs/%252e%252e/other.json', false],
    ['https://files.example.com:8443/programs/%c0%ae%c0%ae/other.json', false],
    ['https://files.example.com:8443/programs/%61.json', false],
    ['https://files.example.com:8443/programs/...json', false],
    ['https://files.example.com:8443/programs//other.json', false],
    // Where the whole host is on the list, its own servers decide.
    ['https://claude.ai/a;b/%61.json', true],
    // It is not written as a URL parser writes it.
    ['https://CLAUDE.ai/x', false],
    ['https://claude.ai:443/x', false],
    ['https://claude.ai\\x', false],
    ['https:claude.ai/x', false],
    [' https://claude.ai/x', false],
    ['http://claude.ai/x', false],
    // It has parts that it must not have, or too few.
    ['https://claude.ai/', false],
    ['https://claude.ai', false],
    ['https://claude.ai/x?y', false],
    ['https://claude.ai/x?', false],
    ['https://claude.ai/x#y', false],
    ['https://claude.ai/x#', false],
    ['https://a@claude.ai/x', false],
    [`https://claude.ai/${'x'.repeat(500)}`, false],
  ])('%s: %s', (address, isAllowed) => {
    expect(isAllowedDocument(address, hosts)).toBe(isAllowed)
  })

  it('none without a list', () => {
    expect(isAllowedDocument(id, documentHosts(''))).toBe(false)
  })

  it.each([
    '*.claude.ai',
    'https://claude.ai',
    'claude.ai/x',
    'claude.ai/../',
    'claude.ai/a;b/',
    'claude.ai/..a/',
    'claude.ai:443',
    'a b',
    '/x/',
  ])('the list has no %s', (entry) => {
    expect(() => documentHosts(entry)).toThrow(/must be hosts/)
  })
})

describe('a document', () => {
  it.each([
    ['its own', {}],
    [
      'none among several methods, as ChatGPT lists them',
      {
        token_endpoint_auth_method: 'private_key_jwt',
        token_endpoint_auth_methods_supported: ['private_key_jwt', 'none'],
      },
    ],
    ['the method none', { token_endpoint_auth_method: 'none' }],
    [
      'a logo and a key set, of which nothing is fetched',
      { logo_uri: 'http://10.0.0.1/', jwks_uri: 'http://10.0.0.1/' },
    ],
  ])('is taken with %s', (_, changed) => {
    expect(readDocument(id, text(changed))).toEqual({
      name: 'Helper (claude.ai)',
      redirectAddresses: ['https://claude.ai/callback'],
    })
  })

  it.each([
    ['another id', text({ client_id: `${id}x` }), /client_id/],
    ['no id', text({ client_id: undefined }), /client_id/],
    ['a secret', text({ client_secret: 'x' }), /secret/],
    ['a method that needs one', text({ token_endpoint_auth_method: 'client_secret_basic' }), /method/],
    ['no address', text({ redirect_uris: [] }), /redirect/],
    ['addresses that are no list', text({ redirect_uris: 'https://claude.ai/callback' }), /redirect/],
    ['a list for an object', '[]', /object/],
    ['no JSON', '<html>', /object/],
  ])('is refused with %s', (_, document, fault) => {
    expect(readDocument(id, document)).toEqual({ fault: expect.stringMatching(fault) })
  })

  it('has only addresses with https or on this machine', () => {
    const redirect_uris = [
      'http://localhost/callback',
      'http://127.0.0.1/callback',
      'https://claude.ai/callback',
      'http://claude.ai/callback',
      'com.example.app:/callback',
      'javascript:alert(1)',
      'https://claude.ai/*',
      'https://claude.ai/x#y',
      7,
    ]
    expect(readDocument(id, text({ redirect_uris }))).toMatchObject({
      redirectAddresses: ['http://localhost/callback', 'http://127.0.0.1/callback', 'https://claude.ai/callback'],
    })
  })

  it.each([
    [undefined, 'claude.ai'],
    [7, 'claude.ai'],
    ['\u202eedualC\u0007\n', 'edualC (claude.ai)'],
    // No other host stands beside its own, in whatever dots and brackets.
    ['Claude (claude.ai)', 'claude.ai'],
    ['Sign in at claude\u3002ai', 'claude.ai'],
    ['claude\uff0eai', 'claude.ai'],
    ['claude\u200b.ai', 'claude.ai'],
    ['claude[.]ai', 'claude.ai'],
    ['claude.\u0301ai', 'claude.ai'],
    ['Notes 1.2 [by Claude]', 'Notes 1.2 by Claude (claude.ai)'],
    ['\uff08Claude\uff09 \u3010x\u3011', 'Claude x (claude.ai)'],
    // Marks draw no line over other rows.
    [`Z${'\u0335'.repeat(30)}oe\u0301`, `Z${'\u0335'.repeat(2)}oé (claude.ai)`],
    ['x'.repeat(200), `${'x'.repeat(60)} (claude.ai)`],
  ])('is called what it may be called: %j', (client_name, name) => {
    expect(readDocument(id, text({ client_name }))).toMatchObject({ name })
  })
})

describe('a copy', () => {
  const now = 'Thu, 01 Jan 2026 00:00:00 GMT'
  it.each([
    [{}, 300],
    [{ 'cache-control': 'no-store' }, 300],
    [{ 'cache-control': 'public, max-age=3600' }, 3_600],
    [{ 'cache-control': 'max-age=3600', age: '600' }, 3_000],
    [{ 'cache-control': 'max-age=999999999' }, 86_400],
    [{ 'cache-control': 'max-age=1' }, 300],
    [{ date: now, expires: 'Thu, 01 Jan 2026 01:00:00 GMT' }, 3_600],
    [{ date: now, expires: '0' }, 300],
  ])('is fresh as its headers say, within bounds: %j', (headers, seconds) => {
    expect(freshFor(new Headers(headers as Record<string, string>))).toBe(seconds)
  })

  it('is of a JSON type', () => {
    const types = [
      'application/json',
      'application/json; charset=utf-8',
      'application/cimd+json',
      'text/html',
      'text/json',
      null,
    ]
    expect(types.filter(isJsonType)).toEqual(types.slice(0, 3))
  })
})
