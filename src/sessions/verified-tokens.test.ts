import { createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createMovableClock } from '../../test/support/clock.js'
import { minutes } from '../lib/durations.js'
import { createTokens, createVerifiedTokens } from './tokens.js'

const secret = 'f3a1c9e07b5d482693ae10cf7d86b24e5908d1f7a63bc4e2971d05f8ab36c7e4'
const older = '0c7d19e6a85f32b4d60ea97c15fb83d2704e9b6a8df13c5207ee49b16ad8f350'
const issuer = 'https://app.example.com'
const clock = createMovableClock()
const now = () => Math.floor(clock.now().getTime() / 1000)
const claimsOf = (username: string) => ({
  userId: '0190c0de-0000-7000-8000-000000000001',
  username,
  sid: '0190c0de-0000-7000-8000-000000000002',
  gen: 0,
  sub: '0190c0de-0000-7000-8000-000000000001',
  iss: issuer,
  aud: issuer,
  iat: now(),
  exp: now() + 900,
  email: 'ada@example.com',
  name: 'Ada',
  auth_time: now(),
  amr: ['pwd'],
  groups: [],
})
const names = (count: number) => Array.from({ length: count }, (_, index) => `token-${index}`)

describe('what is remembered', () => {
  it('is found by the whole text only', () => {
    const verified = createVerifiedTokens()
    verified.remember('header.payload.signature', claimsOf('ada'))
    expect(verified.find('header.payload.signature')?.username).toBe('ada')
    for (const other of ['', 'header.payload.signatur', 'header.payload.signature ', 'HEADER.payload.signature'])
      expect(verified.find(other)).toBeUndefined()
  })

  it('is not found by another text with the same signature', () => {
    const verified = createVerifiedTokens()
    const signature = 'c2lnbmF0dXJl'.padEnd(43, 'A')
    verified.remember(`header.payload.${signature}`, claimsOf('ada'))
    expect(verified.find(`header.payloae.${signature}`)).toBeUndefined()
    expect(verified.find(`header.payload.${signature}`)?.username).toBe('ada')
  })

  it('is never more than the given number of tokens, and always has the newest', () => {
    const verified = createVerifiedTokens({ maxTokens: 100, maxBytes: 1e9 })
    for (const name of names(1000)) {
      verified.remember(name, claimsOf(name))
      expect(verified.size().tokens).toBeLessThanOrEqual(100)
      expect(verified.find(name)?.username).toBe(name)
    }
    expect(verified.size().tokens).toBeGreaterThanOrEqual(50)
    expect(verified.find('token-0')).toBeUndefined()
  })

  it('is never more than the given number of bytes', () => {
    const verified = createVerifiedTokens({ maxTokens: 1e9, maxBytes: 100_000 })
    for (const name of names(500)) {
      verified.remember(name.padStart(1000, '-'), claimsOf(name))
      expect(verified.size().bytes).toBeLessThanOrEqual(100_000)
    }
    expect(verified.size().bytes).toBeGreaterThan(40_000)
  })

  it('keeps a token that is in use and forgets the others', () => {
    const verified = createVerifiedTokens({ maxTokens: 10, maxBytes: 1e9 })
    verified.remember('in use', claimsOf('ada'))
    verified.remember('not in use', claimsOf('eve'))
    for (const name of names(100)) {
      verified.remember(name, claimsOf(name))
      expect(verified.find('in use')?.username).toBe('ada')
      expect(verified.size().tokens).toBeLessThanOrEqual(10)
    }
    expect(verified.find('not in use')).toBeUndefined()
  })

  it('counts what it holds, whatever moves between its halves', () => {
    const verified = createVerifiedTokens({ maxTokens: 10, maxBytes: 1e9 })
    const held = new Set<string>()
    for (let step = 0; step < 2000; step += 1) {
      const name = `token-${(step * 7) % 13}`
      if (!verified.find(name)) verified.remember(name, claimsOf(name))
      held.add(name)
    }
    const found = [...held].filter((name) => verified.find(name))
    expect(verified.size().tokens).toBe(found.length)
    expect(verified.size().bytes).toBe(found.reduce((sum, name) => sum + 2 * name.length + 720, 0))
  })

  it('cannot be changed by a request that was given it', () => {
    const verified = createVerifiedTokens()
    verified.remember('token', claimsOf('ada'))
    expect(() => Object.assign(verified.find('token') ?? {}, { username: 'eve' })).toThrow(TypeError)
  })
})

describe('an access token that was read before', () => {
  /** Signed with our own secret, with whatever claims. */
  const forge = (like: string, payload: object, key = secret) => {
    const signed = `${like.split('.', 1)[0]}.${Buffer.from(JSON.stringify(payload)).toString('base64url')}`
    return `${signed}.${createHmac('sha256', key).update(signed).digest('base64url')}`
  }

  it('is not read again', () => {
    const tokens = createTokens({ secrets: [secret], clock, issuer })
    const token = tokens.signAccess(claimsOf('ada'))
    const claims = tokens.readAccess(token)
    expect(claims).toMatchObject({ username: 'ada' })
    expect(tokens.readAccess(token)).toBe(claims)
  })

  it('is refused from the moment it expires', () => {
    const tokens = createTokens({ secrets: [secret], clock, issuer })
    const token = tokens.signAccess(claimsOf('ada'))
    tokens.readAccess(token)
    clock.advance(15 * minutes - 1500)
    expect(tokens.readAccess(token)).toBeDefined()
    clock.advance(1500)
    expect(tokens.readAccess(token)).toBeUndefined()
  })

  it('is refused before its beginning, if the clock goes back', () => {
    const tokens = createTokens({ secrets: [secret], clock, issuer })
    const token = forge(tokens.signAccess(claimsOf('ada')), { ...claimsOf('ada'), nbf: now() + 60 })
    expect(tokens.readAccess(token)).toBeUndefined()
    clock.advance(2 * minutes)
    expect(tokens.readAccess(token)).toBeDefined()
    clock.advance(-2 * minutes)
    expect(tokens.readAccess(token)).toBeUndefined()
  })

  it('is not known to other secrets', () => {
    const ring = createTokens({ secrets: [secret, older], clock, issuer })
    const token = createTokens({ secrets: [older], clock, issuer }).signAccess(claimsOf('ada'))
    expect(ring.readAccess(token)).toBeDefined()
    const later = createTokens({ secrets: [secret], clock, issuer })
    expect(later.readAccess(token)).toBeUndefined()
  })

  it('leaves no trace if it was refused', () => {
    const tokens = createTokens({ secrets: [secret], clock, issuer })
    const genuine = tokens.signAccess(claimsOf('ada'))
    const refused = [
      'garbage',
      genuine.slice(0, -1),
      forge(genuine, claimsOf('ada'), older),
      forge(genuine, { ...claimsOf('ada'), exp: now() - 1 }),
      forge(genuine, { ...claimsOf('ada'), nbf: now() + 60 }),
      forge(genuine, { ...claimsOf('ada'), userId: 'eve' }),
      tokens.signRefresh(claimsOf('ada')),
    ]
    for (const token of refused) expect(tokens.readAccess(token)).toBeUndefined()
    expect(tokens.rememberedSize()).toEqual({ tokens: 0, bytes: 0 })
    tokens.readAccess(genuine)
    expect(tokens.rememberedSize().tokens).toBe(1)
  })
})
