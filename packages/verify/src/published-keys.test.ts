import { createSign, generateKeyPairSync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createPublishedKeys } from './published-keys.js'
import { splitToken } from './token-text.js'

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
  const pass = (seconds: number) => {
    time += seconds * 1000
  }
  return { service, published, pass }
}
const away = () => Promise.reject(new Error('ECONNREFUSED'))

describe('published keys', () => {
  it('are asked for once by many callers, and kept as long as the service says', async () => {
    const { service, published, pass } = publish([first.jwk])
    const results = await Promise.all(Array.from({ length: 20 }, () => published.check(first.token)))
    expect(new Set(results)).toEqual(new Set(['good']))
    expect(service.asked).toBe(1)
    pass(299)
    expect(await published.check(first.token)).toBe('good')
    expect(service.asked).toBe(1)
    pass(1)
    expect(await published.check(first.token)).toBe('good')
    expect(service.asked).toBe(2)
  })

  it('are asked for again for an unknown id, once in 30 seconds', async () => {
    const { service, published, pass } = publish([first.jwk])
    expect(await published.check(first.token)).toBe('good')
    service.keys = [first.jwk, second.jwk]
    expect(await published.check(second.token)).toBe('unknown_key')
    expect(service.asked).toBe(1)
    pass(30)
    const results = await Promise.all([second, third, second].map(({ token }) => published.check(token)))
    expect(results).toEqual(['good', 'unknown_key', 'good'])
    for (let tries = 0; tries < 10; tries += 1) expect(await published.check(third.token)).toBe('unknown_key')
    expect(service.asked).toBe(2)
  })

  it('go on being used while the service is away, and are withdrawn when it says so', async () => {
    const { service, published, pass } = publish([first.jwk, second.jwk])
    expect(await published.check(first.token)).toBe('good')
    service.answer = away
    pass(3_000)
    expect(await published.check(first.token)).toBe('good')
    expect(await published.check(first.token)).toBe('good')
    expect(service.asked).toBe(2)
    expect(service.problems).toEqual([expect.stringContaining('keys cannot be read from http://127.0.0.1:9/')])
    service.answer = undefined
    service.keys = [second.jwk]
    pass(30)
    const before = published.version()
    expect(await published.check(first.token)).toBe('unknown_key')
    expect(await published.check(second.token)).toBe('good')
    expect(published.version()).not.toBe(before)
  })

  it('go on being used while the service hangs', async () => {
    const { service, published, pass } = publish([first.jwk])
    expect(await published.check(first.token)).toBe('good')
    service.answer = () => new Promise(() => {})
    pass(300)
    expect(await published.check(first.token)).toBe('good')
    expect(service.asked).toBe(2)
  })

  it('are not known before the service has answered, and then soon are', async () => {
    const { service, published, pass } = publish([first.jwk])
    service.answer = away
    expect(await published.check(first.token)).toBe('unavailable')
    expect(published.isKnown()).toBe(false)
    service.answer = undefined
    pass(1)
    expect(await published.check(first.token)).toBe('good')
  })

  it.each<[string, () => Response]>([
    ['an error page', () => new Response('<h1>Bad gateway</h1>', { status: 502 })],
    ['a redirect', () => Response.redirect('https://evil.example/', 302)],
    ['something else with 200', () => new Response('<!doctype html>')],
    ['no list', () => Response.json({ keys: {} })],
    ['a megabyte', () => Response.json({ keys: [first.jwk], more: 'x'.repeat(1_000_000) })],
  ])('are kept when the service answers with %s', async (_, answer) => {
    const { service, published, pass } = publish([first.jwk])
    expect(await published.check(first.token)).toBe('good')
    service.answer = async () => answer()
    pass(400)
    expect(await published.check(first.token)).toBe('good')
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
    const { published } = publish([{ ...first.jwk, ...change }, 'x', null, second.jwk])
    expect(await published.check(first.token)).toBe('unknown_key')
    expect(await published.check(second.token)).toBe('good')
  })

  it('may be none: then no token is good, until there is one', async () => {
    const { service, published, pass } = publish([])
    expect(await published.check(first.token)).toBe('unknown_key')
    expect(published.isKnown()).toBe(true)
    service.keys = [first.jwk]
    pass(1)
    expect(await published.check(first.token)).toBe('good')
  })
})
