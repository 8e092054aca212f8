import { describe, expect, it } from 'vitest'
import { safeReturnTo } from './return-to.js'

describe('safeReturnTo with allowed sites', () => {
  const allowed = ['https://app.example.com', 'http://localhost:5173']

  it.each([
    ['https://app.example.com', 'https://app.example.com/'],
    ['https://app.example.com/notes?tab=2#end', 'https://app.example.com/notes?tab=2#end'],
    ['HTTPS://APP.example.com:443/', 'https://app.example.com/'],
    ['http://localhost:5173/', 'http://localhost:5173/'],
    ['/notes', '/notes'],
  ])('keeps %j', (value, expected) => {
    expect(safeReturnTo(value, allowed)).toBe(expected)
  })

  it.each([
    'https://app.example.com.evil.example/',
    'https://evil.example/?https://app.example.com',
    'https://app.example.com@evil.example/',
    'https://user:password@app.example.com/',
    'https://app.example.com:444/',
    'http://app.example.com/',
    'https:app.example.com',
    'https:/\\app.example.com',
    'https://app.example.com\\@evil.example/',
    'https://app.exa\tmple.com/',
    ' https://app.example.com/',
    '//app.example.com/',
    'javascript://app.example.com/%0aalert(1)',
    'data:text/html,x',
    `https://app.example.com/${'a'.repeat(512)}`,
  ])('keeps nothing of %j', (value) => {
    expect(safeReturnTo(value, allowed)).toBeUndefined()
  })

  it('allows no other site by default', () => {
    expect(safeReturnTo('https://app.example.com/')).toBeUndefined()
  })
})

describe('safeReturnTo', () => {
  it.each([
    ['/', '/'],
    ['/dashboard', '/dashboard'],
    ['/notes/7?tab=2&q=a%0Ab#end', '/notes/7?tab=2&q=a%0Ab#end'],
    ['/a/../b', '/b'],
    ['/caf\u00e9', '/caf%C3%A9'],
    ['/search?next=https://example.com/', '/search?next=https://example.com/'],
  ])('keeps the path %j of this site', (value, expected) => {
    expect(safeReturnTo(value)).toBe(expected)
  })

  it.each([
    undefined,
    '',
    'dashboard',
    '//evil.example',
    '///evil.example',
    '/\\evil.example',
    '\\\\evil.example',
    '/a\\b',
    '/\t/evil.example',
    '/\n/evil.example',
    '\t//evil.example',
    ' //evil.example',
    '/ /evil.example',
    '/%09/evil.example',
    '/%2509/evil.example',
    '/%0d%0aSet-Cookie:x=y',
    '/%2f/evil.example',
    '/%2F%2Fevil.example',
    '/%5cevil.example',
    '/%255cevil.example',
    '/..//evil.example',
    '/.//evil.example',
    '/a/..//evil.example',
    '/%2e%2e//evil.example',
    '/%e0%a4%a',
    'https:evil.example',
    'https://evil.example/',
    'http:/evil.example',
    'javascript:alert(1)',
    'java\tscript:alert(1)',
    'data:text/html,x',
    '@evil.example',
    '.evil.example',
    '/\u0000',
    '/\u0085/evil.example',
    `/${'a'.repeat(1024)}`,
    `/${'\u00e9'.repeat(400)}`,
  ])('refuses %j', (value) => {
    expect(safeReturnTo(value)).toBeUndefined()
  })
})
