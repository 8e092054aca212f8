import { createSign, generateKeyPairSync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createPublishedKeys } from './published-keys.js'
import { splitToken, type TokenText } from './token-text.js'

const makeKey = (kid: string) => {
  const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const header = Buffer.from(JSON.stringify({ alg: 'ES256', typ: 'at+jwt', kid })).toString('base64url')
  const signature = createSign('sha256')
    .update(`${header}.e30`)
    .sign({ key: privateKey, dsaEncoding: 'ieee-p1363' }, 'base64url')
  const token = splitToken(`${header}.e30.${signature}`)
  if (!token) throw new Error('No token')
  return { token, jwk: { ...publicKey.export({ format: 'jwk' }), kid, alg: 'ES256', use: 'sig' } }
}
const [first, second, third] = [makeKey('first'), makeKey('second'), makeKey('third')]

/** A service that publishes keys, and a clock. */
const publish = (keys: unknown[]) => {
  const service = {
    keys,
    asked: 0,
    problems: [] as string[],
    answer: undefined as (() => Promise<Response>) | undefined,
  }
  let time = 0
  const published = createPublishedKeys({
    url: 'http://127.0.0.1:9/.well-known/jwks.json',
    now: () => time,
    onProblem: (message) => service.problems.push(message),
    fetch: async () => {
      service.asked += 1
      if (service.answer) return service.answer()
      return Response.json({ keys: service.keys }, { headers: { 'cache-control': 'public, max-age=300' } })
    },
  })
  const check = async ({ token }: { token: TokenText }) => {
    const found = await published.check(token)
    return typeof found === 'string' ? found : 'good'
  }
  const pass = (seconds: number) => {
    time += seconds * 1000
  }
  return { service, published, check, pass }
}
const away = () => Promise.reject(new Error('ECONNREFUSED'))

describe('published keys', () => {
  it('are asked for once by many callers, and kept as long as the service says', async () => {
    const { service, check, pass } = publish([first.jwk])
    const results = await Promise.all(Array.from({ length: 20 }, () => check(first)))
    expect(new Set(results)).toEqual(new Set(['good']))
    expect(service.asked).toBe(1)
    pass(299)
    expect(await check(first)).toBe('good')
    expect(service.asked).toBe(1)
    pass(1)
    expect(await check(first)).toBe('good')
    expect(service.asked).toBe(2)
  })

  it('are asked for again for an unknown id, once in 30 seconds', async () => {
    const { service, check, pass } = publish([first.jwk])
    expect(await check(first)).toBe('good')
    service.keys = [first.jwk, second.jwk]
    expect(await check(second)).toBe('unknown_key')
    expect(service.asked).toBe(1)
    pass(30)
    const results = await Promise.all([second, third, second].map(check))
    expect(results).toEqual(['good', 'unknown_key', 'good'])
    for (let tries = 0; tries < 10; tries += 1) expect(await check(third)).toBe('unknown_key')
    expect(service.asked).toBe(2)
  })

  it('go on being used while the service is away, and are withdrawn when it says so', async () => {
    const { service, published, check, pass } = publish([first.jwk, second.jwk])
    const [withdrawn, kept] = await Promise.all([first, second].map(({ token }) => published.check(token)))
    if (typeof withdrawn !== 'object' || typeof kept !== 'object') throw new Error('No keys')
    service.answer = away
    pass(3_000)
    expect(await check(first)).toBe('good')
    expect(await check(first)).toBe('good')
    expect(service.asked).toBe(2)
    expect(service.problems).toEqual([expect.stringContaining('keys cannot be read from http://127.0.0.1:9/')])
    service.answer = undefined
    service.keys = [second.jwk]
    pass(30)
    expect(await check(first)).toBe('unknown_key')
    expect(await check(second)).toBe('good')
    expect([published.holds(withdrawn), published.holds(kept)]).toEqual([false, true])
  })

  it('that are none name the setting of the service, once, and at the start', async () => {
    const { service, published, check, pass } = publish([])
    expect(published.lastingProblem()).toBeUndefined()
    for (let tries = 0; tries < 3; tries += 1) {
      expect(await check(first)).toBe('unknown_key')
      pass(400)
    }
    expect(service.problems).toEqual([expect.stringContaining('ACCESS_TOKEN_ALGORITHM=ES256')])
    expect(published.lastingProblem()).toBe(service.problems[0])
    service.keys = [first.jwk]
    expect(await check(first)).toBe('good')
    expect(published.lastingProblem()).toBeUndefined()
  })

  it('are read once by requests that wait for the first ones, however long that takes', async () => {
    const { service, published, check, pass } = publish([first.jwk])
    service.answer = async () => {
      pass(5)
      throw new Error('timeout')
    }
    // As the verifier does it: before it looks for a remembered token, and again for the key.
    const ask = async () => {
      await published.refresh()
      return check(first)
    }
    expect(await Promise.all([ask(), ask(), ask()])).toEqual(Array(3).fill('unavailable'))
    expect(service.asked).toBe(1)
  })

  it('are another key under the same id if the service says so', async () => {
    const { service, published, check, pass } = publish([first.jwk])
    const before = await published.check(first.token)
    if (typeof before !== 'object') throw new Error('No key')
    service.keys = [{ ...second.jwk, kid: 'first' }]
    pass(300)
    expect(await check(first)).toBe('bad_signature')
    expect(published.holds(before)).toBe(false)
  })

  it('go on being used while the service hangs', async () => {
    const { service, check, pass } = publish([first.jwk])
    expect(await check(first)).toBe('good')
    service.answer = () => new Promise(() => {})
    pass(300)
    expect(await check(first)).toBe('good')
    expect(service.asked).toBe(2)
  })

  it('are not known before the service has answered, and then soon are', async () => {
    const { service, published, check, pass } = publish([first.jwk])
    service.answer = away
    expect(await check(first)).toBe('unavailable')
    expect(published.areLoaded()).toBe(false)
    service.answer = undefined
    pass(1)
    expect(await check(first)).toBe('good')
  })

  it.each<[string, () => Response]>([
    ['an error page', () => new Response('<h1>Bad gateway</h1>', { status: 502 })],
    ['a redirect', () => Response.redirect('https://evil.example/', 302)],
    ['something else with 200', () => new Response('<!doctype html>')],
    ['no list', () => Response.json({ keys: {} })],
    ['a megabyte', () => Response.json({ keys: [first.jwk], more: 'x'.repeat(1_000_000) })],
  ])('are kept when the service answers with %s', async (_, answer) => {
    const { service, check, pass } = publish([first.jwk])
    expect(await check(first)).toBe('good')
    service.answer = async () => answer()
    pass(400)
    expect(await check(first)).toBe('good')
    expect(service.asked).toBe(2)
    expect(service.problems).toHaveLength(1)
  })

  it.each<[string, object]>([
    ['of another curve', { crv: 'P-384' }],
    ['of another kind', { kty: 'RSA' }],
    ['for another algorithm', { alg: 'ES384' }],
    ['for encryption', { use: 'enc' }],
    ['that is private', { d: 'AAAA' }],
    ['that is no point of the curve', { x: first.jwk.y, y: first.jwk.x }],
    ['without an id', { kid: undefined }],
  ])('leave out one %s', async (_, change) => {
    const { check } = publish([{ ...first.jwk, ...change }, 'x', null, second.jwk])
    expect(await check(first)).toBe('unknown_key')
    expect(await check(second)).toBe('good')
  })

  it('may be none: then no token is good, until there is one', async () => {
    const { service, published, check, pass } = publish([])
    expect(await check(first)).toBe('unknown_key')
    expect(published.areLoaded()).toBe(true)
    service.keys = [first.jwk]
    pass(1)
    expect(await check(first)).toBe('good')
  })
})
