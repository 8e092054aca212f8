import { describe, expect, it } from 'vitest'
import { readOpenPath } from '../applications/application-rules.js'
import { type AskedRequest, isOpenPath, readAskedRequest, sentenceOf, wayBackTo } from './asked-request.js'
import { isIdentityHeader } from './visitor-headers.js'

const forwarded = {
  'X-Forwarded-Method': 'GET',
  'X-Forwarded-Proto': 'https',
  'X-Forwarded-Host': 'wiki.example.com',
  'X-Forwarded-Uri': '/page?a=1',
}
const original = { 'X-Original-Method': 'GET', 'X-Original-URL': 'https://wiki.example.com/page?a=1' }

type Headers = Record<string, string | undefined>
const listOf = (headers: Headers) =>
  Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [name, value]))
const read = (headers: Headers, query = '', more: string[] = []) =>
  readAskedRequest([...listOf(headers), ...more], query, isIdentityHeader)

describe('what a visitor has asked', () => {
  it.each([
    ['four headers', forwarded, false],
    ['two headers', original, true],
  ])('is read from %s', (_, headers, isByNginx) => {
    expect(read(headers)).toEqual({
      method: 'GET',
      origin: 'https://wiki.example.com',
      path: '/page',
      query: '?a=1',
      isByNginx,
    })
  })

  it.each([
    [{ 'X-Forwarded-Proto': 'wss' }, 'https://wiki.example.com'],
    [{ 'X-Forwarded-Proto': 'ws', 'X-Forwarded-Host': 'wiki.example.com:80' }, 'http://wiki.example.com'],
    [{ 'X-Forwarded-Host': 'WIKI.example.com:443' }, 'https://wiki.example.com'],
    [{ 'X-Forwarded-Host': 'wiki.example.com:8443' }, 'https://wiki.example.com:8443'],
    [{ 'X-Forwarded-Host': 'wiki.example.com:80' }, 'https://wiki.example.com:80'],
    [{ 'X-Forwarded-Host': '[::1]:8443' }, 'https://[::1]:8443'],
    // Nobody can register this one.
    [{ 'X-Forwarded-Host': 'wiki.example.com.' }, 'https://wiki.example.com.'],
  ])('has an origin as it is registered: %j', (change, origin) => {
    expect(read({ ...forwarded, ...change })).toMatchObject({ origin })
  })

  it.each(Object.keys(forwarded).map((name) => [name]))('is not believed without %s', (name) => {
    expect(read({ ...forwarded, [name]: undefined })).toMatchObject({ fault: 'missing', header: name.toLowerCase() })
  })

  it.each([...Object.entries(forwarded), ...Object.entries(original)])(
    'is not believed with %s twice',
    (name, value) => {
      const headers = name in forwarded ? forwarded : original
      expect(read(headers, '', [name.toUpperCase(), value])).toMatchObject({
        fault: 'twice',
        header: name.toLowerCase(),
      })
    },
  )

  it.each(Object.keys(original).map((name) => [name]))('is not believed with %s alone', (name) => {
    expect(read({ [name]: original[name as keyof typeof original] })).toMatchObject({ fault: 'missing' })
  })

  it.each(['X-Forwarded-Uri', 'X-Forwarded-Method'])('is not believed with %s beside those of nginx', (name) => {
    expect(read({ ...original, [name]: '/public/' })).toMatchObject({ fault: 'both', header: name.toLowerCase() })
  })

  it('may have the host of an outer proxy beside the address of nginx, which decides', () => {
    const outer = { 'X-Forwarded-Host': 'other.example.com', 'X-Forwarded-Proto': 'http' }
    expect(read({ ...original, ...outer })).toMatchObject({ origin: 'https://wiki.example.com' })
  })

  it.each([
    ['X-Forwarded-Method', ['get', '', 'GET POST', 'GET,POST', 'G/T', '-GET']],
    ['X-Forwarded-Proto', ['', 'HTTPS', 'https,http', 'javascript', 'httpss', '__proto__']],
    [
      'X-Forwarded-Host',
      [
        '',
        'a b',
        'a,b',
        'user@wiki.example.com',
        'wiki.example.com:',
        'wiki.example.com:0443',
        'wiki.example.com:65536',
      ]
        .concat(['wiki.example.com/path', 'wiki.example.com?', 'wiki..example.com', '[::1', 'wiki\\.example.com'])
        .concat([`${'a'.repeat(250)}.com`, 'wiki.example.com%00', 'bücher.example.com']),
    ],
    [
      'X-Forwarded-Uri',
      ['', 'page', '*', 'https://wiki.example.com/', '/a b', '/a#b', '/a\tb', '/a\x7f', `/${'a'.repeat(8192)}`],
    ],
  ])('is not believed with an odd %s', (name, values) => {
    for (const value of values)
      expect(read({ ...forwarded, [name]: value }), value).toMatchObject({
        fault: 'malformed',
        header: name.toLowerCase(),
      })
  })

  it.each([
    'wiki.example.com/page',
    '//wiki.example.com/page',
    'https:/wiki.example.com/page',
    'https://wiki.example.com',
    'https:///page',
    'https://wiki.example.comhttp://other.example.com/page',
    'https://user@wiki.example.com/page',
    'https://wiki.example.com\\@other.example.com/page',
    'ftp://wiki.example.com/page',
  ])('is not believed with the address %s', (address) => {
    expect(read({ ...original, 'X-Original-URL': address })).toMatchObject({
      fault: 'malformed',
      header: 'x-original-url',
    })
  })

  it.each([
    ['', true],
    ['?', true],
    ['?a=1', true],
    ['?a=2', false],
    ['?group=admins', false],
    ['?a=1&group=admins', false],
  ])('may come with the query %j: %j', (query, isFine) => {
    expect('fault' in read(forwarded, query)).toBe(!isFine)
  })

  it.each([
    'X-Auth-User-Id',
    'x-auth-groups',
    'X_Auth_Groups',
    'X-Auth_Groups',
    'X.Auth.Groups',
    'X+Auth~Groups',
    'Remote-User',
    'REMOTE_GROUPS',
    'X-Auth-Token-Id',
    'X-AUTH-USERNAME',
  ])('is odd with %s from the visitor', (name) => {
    expect(read({ ...forwarded, [name]: 'admins' })).toMatchObject({ fault: 'identity' })
    expect(read({ ...forwarded, [name]: '' })).toMatchObject({ fault: 'identity' })
  })

  it('may have the headers of other programs', () => {
    for (const name of ['X-Auth-Token', 'X-Auth', 'X_Forwarded_Uri', 'X-Forwarded-For'])
      expect(read({ ...forwarded, [name]: 'x' })).not.toHaveProperty('fault')
  })

  it.each([
    ['Content-Length', '5', true],
    ['Content-Length', '', true],
    ['Content-Length', '0', false],
    ['Transfer-Encoding', 'chunked', true],
  ])('announces no body: %s %s', (name, value, isFault) => {
    expect('fault' in read({ ...forwarded, [name]: value })).toBe(isFault)
  })

  it.each([
    ['', false],
    ['close', false],
    ['Keep-Alive, Upgrade', false],
    ['Upgrade, HTTP2-Settings', false],
    ['close, x-auth-scope', true],
    ['X_Auth_Scope', true],
    ['Cookie', true],
  ])('comes with a Connection that names %j', (value, isFault) => {
    expect('fault' in read({ ...forwarded, 'X-Forwarded-Connection': value })).toBe(isFault)
  })

  it('is named in the log, without what could control a terminal', () => {
    const fault = read({ ...forwarded, 'X-Forwarded-Host': `\x1b[31m${'x'.repeat(300)}` })
    if (!('fault' in fault)) throw new Error('It was believed')
    expect(sentenceOf(fault)).toBe(`x-forwarded-host is not well-formed: ?[31m${'x'.repeat(195)}`)
  })
})

const asked = (path: string, method = 'GET', query = ''): AskedRequest => ({
  method,
  origin: 'https://wiki.example.com',
  path,
  query,
  isByNginx: false,
})

describe('an open path', () => {
  const open = ['/manifest.json', '/public/', 'POST:/hooks/'].map(readOpenPath)

  it.each([
    ['GET', '/manifest.json', true],
    ['HEAD', '/manifest.json', true],
    ['POST', '/manifest.json', false],
    ['GET', '/manifest.json/', false],
    ['GET', '/Manifest.json', false],
    ['GET', '/public/', true],
    ['GET', '/public/a.b/c', true],
    ['GET', '/public', false],
    ['GET', '/publicity/', false],
    ['POST', '/hooks/1', true],
    ['GET', '/hooks/1', false],
    ['MOVE', '/public/a', false],
    ['GET', '/public/%2e%2e/admin', false],
    ['GET', '/public//a', false],
    ['GET', '/public/./a', false],
    ['GET', '/public/../admin', false],
    ['GET', '/public/..', false],
    ['GET', '/public/.', false],
    ['GET', '/public/a;b', false],
    ['GET', '/public/\\a', false],
    ['GET', '/public/\xe9', false],
  ])('%s %s: %j', (method, path, isOpen) => {
    expect(isOpenPath(asked(path, method), open)).toBe(isOpen)
  })
})

describe('the way back', () => {
  it('is the address that was asked for', () => {
    expect(wayBackTo(asked('/a', 'GET', '?b=%20c'))).toBe('https://wiki.example.com/a?b=%20c')
    expect(wayBackTo(asked('/\xc3\xa9'))).toBe('https://wiki.example.com/%C3%A9')
    expect(wayBackTo(asked('//other.example.com'))).toBe('https://wiki.example.com//other.example.com')
  })
  it('is the first page if the address is too long', () => {
    expect(wayBackTo(asked(`/${'a'.repeat(2_000)}`))).toBe('https://wiki.example.com/')
  })
})
