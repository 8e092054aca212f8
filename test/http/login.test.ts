import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { goodPassword, type Latchkey, startLatchkey } from '../support/latchkey.js'

describe('signing in with a password', () => {
  let latchkey: Latchkey
  beforeAll(async () => {
    latchkey = await startLatchkey()
  })
  afterAll(() => latchkey.stop())

  it('sets the two session cookies and one that makes the browser known, and puts no token into a body', async () => {
    await latchkey.signedUp('cookies')
    const tab = latchkey.browser()
    const { setCookies, text } = await tab.post('/login', { username: 'cookies', password: goodPassword })
    expect(setCookies.map((cookie) => cookie.replace(/=[\w.-]+;/, '=…;'))).toEqual([
      'access_token=…; Max-Age=900; Path=/; HttpOnly; SameSite=Strict',
      'refresh_token=…; Max-Age=2592000; Path=/; HttpOnly; SameSite=Strict',
      'known_device=…; Max-Age=31536000; Path=/; HttpOnly; SameSite=Strict',
    ])
    for (const token of [tab.jar.get('access_token'), tab.jar.get('refresh_token')]) expect(text).not.toContain(token)
  })

  it('answers an account without a second factor as specified, byte for byte', async () => {
    const tab = latchkey.browser()
    const account = { username: 'exact', email: 'exact@example.com', password: goodPassword }
    await tab.post('/api/auth/register', account)
    const token = /#token=([\w-]+)/.exec((await latchkey.mailTo(account.email)).text)?.[1]
    const answers = [
      await tab.post('/api/auth/verify-email', { token }),
      await tab.post('/login', { username: 'exact', password: goodPassword }),
      await tab.post('/api/auth/refresh'),
    ]
    const [{ id } = { id: '' }] = await latchkey.sql.query<{ id: string }>(
      "select id from users where username = 'exact'",
    )
    const names =
      'cache-control connection content-length content-security-policy content-type cross-origin-embedder-policy ' +
      'cross-origin-opener-policy cross-origin-resource-policy date origin-agent-cluster ratelimit ' +
      'ratelimit-limit ratelimit-policy ratelimit-remaining ratelimit-reset referrer-policy set-cookie ' +
      'strict-transport-security x-content-type-options x-dns-prefetch-control x-download-options x-frame-options ' +
      'x-permitted-cross-domain-policies x-request-id x-xss-protection'
    for (const { status, text, headers } of answers) {
      const [, expiry = ''] = /"accessTokenExpiresAt":"([^"]+)"/.exec(text) ?? []
      expect(expiry).toBe(new Date(expiry).toISOString())
      expect([status, text]).toEqual([
        200,
        `{"user":{"id":"${id}","username":"exact","email":"exact@example.com","name":null},"accessTokenExpiresAt":"${expiry}"}`,
      ])
      expect([...new Set(headers.keys())].sort().join(' ')).toBe(names)
    }
  })

  it('answers an unknown user, a wrong password and a refused one alike', async () => {
    await latchkey.signedUp('alike')
    const tab = latchkey.browser()
    const answers = [
      await tab.post('/login', { username: 'nobody', password: goodPassword }),
      await tab.post('/login', { username: 'alike', password: `${goodPassword}x` }),
      await tab.post('/login', { username: 'alike@example.com', password: 'x' }),
    ]
    for (const answer of answers) {
      const { error, message, ...more } = answer.body
      expect([answer.status, error, message]).toEqual([401, 'Invalid credentials', 'Username or password is incorrect'])
      expect([more, answer.setCookies]).toEqual([{ code: 'invalid_credentials' }, []])
      expect([...answer.headers.keys()]).toEqual([...(answers[0]?.headers.keys() ?? [])])
    }
  })

  it('replaces a hash of another system by bcrypt at the first sign-in, and not before', async () => {
    await latchkey.signedUp('moved')
    // argon2-cffi made it for this password.
    const imported = '$argon2id$v=19$m=1024,t=2,p=2$tSfgGI4BsJZo+vRRlgv5hg$w5WgGiQw5JJ5PbfSDMftHMcZFy7kfaP0YM4zxctqdk0'
    await latchkey.sql.query("update users set password_hash = $1 where username = 'moved'", [imported])
    const kept = async () =>
      (await latchkey.sql.query("select password_hash from users where username = 'moved'"))[0]?.password_hash
    const signIn = async (password: string) =>
      (await latchkey.browser().post('/login', { username: 'moved', password })).status
    expect([await signIn('wrong'), await kept()]).toEqual([401, imported])
    expect([await signIn('Größe-of a Horse 9 ﬁ'), await kept()]).toEqual([200, expect.stringMatching(/^\$2b\$/)])
    expect([await signIn('Größe-of a Horse 9 ﬁ'), await signIn('wrong')]).toEqual([200, 401])

    // Several devices at once: each one finds its password right, whichever of them replaces the hash.
    await latchkey.sql.query("update users set password_hash = $1 where username = 'moved'", [imported])
    const atOnce = Array.from({ length: 4 }, () => signIn('Größe-of a Horse 9 ﬁ'))
    expect(await Promise.all(atOnce)).toEqual([200, 200, 200, 200])
  })

  it('takes a space at the end of a password for what it is', async () => {
    await latchkey.signedUp('spaced', { password: `${goodPassword} ` })
    const tab = latchkey.browser()
    expect((await tab.post('/login', { username: 'spaced', password: goodPassword })).status).toBe(401)
    expect((await tab.post('/login', { username: 'spaced', password: `${goodPassword} ` })).status).toBe(200)
  })
})
