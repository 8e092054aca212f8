import { describe, expect, it } from 'vitest'
import { expectCookieLines, faultOfCookieLine } from '../../test/support/cookie-lines.js'
import { read } from '../../test/support/project.js'
import { cookieTable, isSessionCookie } from './cookie-table.js'

const token = 'a'.repeat(43)
const development = `csrf_secret=${token}; Max-Age=2592000; Path=/; HttpOnly; SameSite=Strict`
const production = `__Host-${development}; Secure`

describe('a Set-Cookie line', () => {
  it.each([
    development,
    production,
    '__Host-csrf_secret=; Max-Age=0; Path=/; HttpOnly; SameSite=Strict; Secure',
    'access_token=a.b.c; Max-Age=900; Path=/; HttpOnly; SameSite=Strict',
    'access_token=a.b.c; Max-Age=899; Domain=example.com; Path=/; HttpOnly; SameSite=Strict; Secure',
    `__Host-attempt_${'a'.repeat(12)}=sealed; Max-Age=600; Path=/; HttpOnly; SameSite=Lax; Secure`,
    '__Host-latchkey_bounced=1; Max-Age=10; Path=/; HttpOnly; Secure; SameSite=Lax',
  ])('passes: %s', (line) => {
    expect(faultOfCookieLine(line)).toBeUndefined()
  })

  it.each([
    ['another name', development.replace('csrf_secret', 'csrf')],
    ['a name that is only a part', development.replace('csrf_secret', 'attempt_')],
    ['Secure and no prefix', `${development}; Secure`],
    ['a prefix and no Secure', `__Host-${development}`],
    ['a Domain', production.replace('Path', 'Domain=example.com; Path')],
    [
      'a prefix where the specification has none',
      '__Host-access_token=a.b.c; Max-Age=900; Path=/; HttpOnly; SameSite=Strict; Secure',
    ],
    ['no HttpOnly', development.replace(' HttpOnly;', '')],
    ['another path', development.replace('Path=/', 'Path=/api')],
    ['no path', development.replace(' Path=/;', '')],
    ['another SameSite', development.replace('Strict', 'Lax')],
    ['no SameSite', development.replace('; SameSite=Strict', '')],
    ['another lifetime', development.replace('2592000', '2592001')],
    ['a shorter lifetime where it is fixed', development.replace('2592000', '60')],
    ['a longer lifetime than allowed', 'access_token=a.b.c; Max-Age=901; Path=/; HttpOnly; SameSite=Strict'],
    ['no lifetime', development.replace(' Max-Age=2592000;', '')],
    ['another value', development.replace(token, 'short')],
    ['a value that is cleared', development.replace('2592000', '0')],
    ['an attribute twice', `${development}; Path=/`],
    ['an unknown attribute', `${development}; Partitioned`],
  ])('is noticed with %s', (_, line) => {
    expect(faultOfCookieLine(line)).toEqual(expect.any(String))
  })

  it('must be as Secure as the others of its answer, and always over https', () => {
    expect(() => expectCookieLines([development, production])).toThrow('Only some cookies are Secure')
    expect(() => expectCookieLines([development], { isSecure: true })).toThrow('is not Secure')
    expect(() => expectCookieLines([production, 'theme=dark'], { isSecure: true })).not.toThrow()
  })
})

const names = Object.entries(cookieTable)
/** Removed with all that begin with `attempt_` or `passkey_`. */
const isOneOfSeveral = (name: string) =>
  names.some(([other]) => other.endsWith('_') && other !== name && name.startsWith(other))
const ofProxies = names
  .filter(([name, { setBy }]) => setBy !== 'guard' && setBy !== 'host' && !isOneOfSeveral(name))
  .map(([name]) => name)

/** The names in an expression such as `a|b|(?:c|d)_[\w-]+`. */
const namesInPattern = (pattern: string) =>
  pattern
    .replaceAll(/\(\?:attempt\|passkey\)_|\(attempt\|passkey\)_/g, 'attempt_|passkey_')
    .replaceAll(/\[[^\]]*\]\+*|__Host-|[()?:]/g, '')
    .split('|')
    .filter((name) => name !== '')

describe('the table of cookies', () => {
  it.each([
    ['deploy/nginx/snippets/latchkey-visitors.conf', /\(\?<lk_ours>\[ \\t\]\*\+(.*?)\[ \\t\]\*\+\(\?:=/],
    ['deploy/forward-auth/Caddyfile', /request_header Cookie "\(\^\|;\)\[ \\t\]\*(.*?)\[ \\t\]\*\(=/],
  ])('has the cookies that %s keeps from the application', async (file, place) => {
    const [, pattern = ''] = place.exec(await read(file)) ?? []
    expect(namesInPattern(pattern).sort()).toEqual([...ofProxies].sort())
  })

  it('is the one of the specification', async () => {
    const [, table = ''] = /### 5\.1 Cookies\n(.*?)\n\nAll have/s.exec(await read('docs/specification.md')) ?? []
    const rows = table.split('\n').slice(3)
    const written = rows.map((row) => row.split('|').map((cell) => cell.trim()))
    const shown = names.map(([name, { sameSite, setBy }]) => {
      const plain = `\`${name}${name.endsWith('_') ? '…' : ''}\``
      return [plain, `\`${sameSite}\``, isSessionCookie(name) ? 'no' : 'yes', setBy]
    })
    expect(written.map(([, name, , , sameSite, prefix, setBy]) => [name, sameSite, prefix, setBy])).toEqual(shown)
  })
})
