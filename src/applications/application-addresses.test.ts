import { expect, it } from 'vitest'
import { addressFault, backchannelFault, defaultHome, isLogoutAddress, isRedirectAddress } from './application-rules.js'

const live = true
const development = false

it.each([
  ['https://app.example.com/callback', undefined],
  ['https://app.example.com', undefined],
  ['https://app.example.com:8443/a/b?c=d&e=%2f', undefined],
  ['https://[2001:db8::1]/callback', undefined],
  ['http://app.example.com/callback', 'not_https'],
  ['http://localhost:8080/callback', 'not_https'],
  ['HTTPS://app.example.com/', 'not_https'],
  ['https:app.example.com', 'not_https'],
  ['https:/app.example.com', 'not_https'],
  ['https:///app.example.com', 'not_https'],
  ['https://', 'not_an_address'],
  ['https://app.example.com:99999/', 'not_an_address'],
  ['app.example.com/callback', 'not_an_address'],
  ['/callback', 'not_an_address'],
  ['', 'not_an_address'],
  ['javascript:alert(1)', 'not_https'],
  ['data:text/html,x', 'not_https'],
  ['com.example.app:/callback', 'not_https'],
  ['https://user@app.example.com/', 'userinfo'],
  ['https://user:password@app.example.com/', 'userinfo'],
  ['https://@app.example.com/', 'userinfo'],
  ['https://:@app.example.com/', 'userinfo'],
  ['https://app.example.com/@user', undefined],
  ['https://app.example.com/#', 'fragment'],
  ['https://app.example.com/#x', 'fragment'],
  ['https://*.example.com/', 'wildcard'],
  ['https://app.example.com/*', 'wildcard'],
  ['https://app.example.com\\@evil.example', 'forbidden_character'],
  ['https://app.example.com/a b', 'forbidden_character'],
  [' https://app.example.com/', 'forbidden_character'],
  ['https://app.example.com/\n', 'forbidden_character'],
  ['https://app.example.com/\t', 'forbidden_character'],
  ['https://app.example.com/\u0000', 'forbidden_character'],
  ['https://app.example.com/"', 'forbidden_character'],
  ["https://app.example.com/'", 'forbidden_character'],
  ['https://bücher.example/', 'forbidden_character'],
  [`https://app.example.com/${'a'.repeat(2_000)}`, 'too_long'],
])('in production, %j of a web application: %s', (address, fault) => {
  expect(addressFault(address, { kind: 'web', production: live })).toBe(fault)
  expect(addressFault(address, { kind: 'browser', production: live })).toBe(fault)
  expect(backchannelFault(address, live)).toBe(fault)
})

it.each([
  ['http://localhost:8080/callback', undefined],
  ['http://127.0.0.1/callback', undefined],
  ['http://[::1]:8080/callback', undefined],
  ['http://localhost.example.com/', 'not_https'],
  ['http://10.0.0.1/', 'not_https'],
  ['http:localhost', 'not_https'],
  ['ftp://localhost/', 'not_https'],
])('in development, %j: %s', (address, fault) => {
  expect(addressFault(address, { kind: 'web', production: development })).toBe(fault)
})

it.each([
  ['http://127.0.0.1/callback', undefined],
  ['http://127.0.0.1', undefined],
  ['http://[::1]:4711/callback?a=b', undefined],
  ['com.example.app:/callback', undefined],
  ['com.example.app://callback', undefined],
  ['http://localhost/callback', undefined],
  ['http://localhost.example.com/', 'not_native'],
  ['http://127.0.0.1.example.com/', 'not_native'],
  ['http://127.0.0.2/', 'not_native'],
  // A claimed link: the operating system says which program has it.
  ['https://app.example.com/', undefined],
  ['https://', 'not_an_address'],
  ['http://app.example.com/', 'not_native'],
  ['example:/callback', 'not_native'],
  ['javascript:/callback', 'not_native'],
  ['com.example.app:callback', 'not_native'],
  ['.app:/callback', 'not_an_address'],
  ['com.example.app://user@callback', 'userinfo'],
  ['http://127.0.0.1:80@evil.example/', 'userinfo'],
  ['com.example.app:/callback#x', 'fragment'],
])('%j of a native application: %s', (address, fault) => {
  expect(addressFault(address, { kind: 'native', production: live })).toBe(fault)
})

const registered = 'https://app.example.com/callback'

it.each([
  'https://app.example.com/callback/',
  'https://app.example.com/callbac',
  'https://app.example.com/callback2',
  'https://app.example.com/callback?',
  'https://app.example.com/callback?a=b',
  'https://app.example.com/callback#',
  'https://app.example.com/Callback',
  'https://App.example.com/callback',
  'https://app.example.com:443/callback',
  'https://app.example.com%2fcallback',
  'https://app.example.com/%63allback',
  'https://user@app.example.com/callback',
  'https://app.example.com\\callback',
  'https://app.example.com/x/../callback',
  'http://app.example.com/callback',
  ' https://app.example.com/callback',
  '',
])('%j is not the registered address', (given) => {
  const application = { kind: 'web', redirectAddresses: [registered], logoutAddresses: [] } as const
  expect(isRedirectAddress(application, given)).toBe(false)
  expect(isRedirectAddress(application, registered)).toBe(true)
  expect(isLogoutAddress(application, registered)).toBe(false)
})

it.each([
  ['http://127.0.0.1/callback', true],
  ['http://127.0.0.1:4711/callback', true],
  ['http://127.0.0.1:65535/callback', true],
  ['http://127.0.0.1:65536/callback', false],
  ['http://127.0.0.1:/callback', false],
  ['http://127.0.0.1:4711/callback/', false],
  ['http://127.0.0.1:4711/callback?x', false],
  ['http://127.0.0.1:4711@evil.example/callback', false],
  ['http://[::1]:4711/callback', false],
  ['http://localhost:4711/callback', false],
  ['https://127.0.0.1:4711/callback', false],
])('%j of a native application that has registered port 8080: %s', (given, isSame) => {
  const addresses = ['http://127.0.0.1:8080/callback']
  const native = { kind: 'native', redirectAddresses: addresses, logoutAddresses: addresses } as const
  expect(isRedirectAddress(native, given)).toBe(isSame)
  expect(isLogoutAddress(native, given)).toBe(isSame)
  const web = { ...native, kind: 'web' } as const
  expect(isRedirectAddress(web, given)).toBe(false)
})

it('users start again at the origin, or at the scheme', () => {
  expect(defaultHome(['https://app.example.com:8443/callback?a=b'])).toBe('https://app.example.com:8443')
  expect(defaultHome(['http://127.0.0.1:8080/callback'])).toBe('http://127.0.0.1:8080')
  expect(defaultHome(['com.example.app:/callback'])).toBe('com.example.app:/')
})
