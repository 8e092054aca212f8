import { describe, expect, it } from 'vitest'
import { createMovableClock } from '../../test/support/clock.js'
import { newSignIn } from '../../test/support/session-facts.js'
import { minutes } from '../lib/durations.js'
import { deriveKey } from '../lib/random.js'
import { createSeal } from '../lib/seal.js'

import { createAttempts } from './attempts.js'

const setUp = () => {
  const clock = createMovableClock()
  const seal = createSeal([deriveKey('a secret', 'provider attempt')])
  return { clock, seal, attempts: createAttempts({ seal, clock }) }
}

describe('an attempt', () => {
  it('comes back as it was sealed, for a sign-in and for a link', () => {
    const { attempts } = setUp()
    const signIn = attempts.begin('provider_a', '/dashboard?x=1', newSignIn)
    const link = attempts.begin('provider_b', '/', { kind: 'link', userId: 'user', sessionId: 'session' })
    expect(attempts.open(attempts.seal(signIn))).toEqual(signIn)
    expect(attempts.open(attempts.seal(link))).toEqual(link)
  })

  it('has values of its own each time', () => {
    const { attempts } = setUp()
    const [one, two] = [0, 1].map(() => attempts.begin('provider_a', '/', newSignIn))
    if (!one || !two) throw new Error('two attempts were begun')
    const values = [one, two].flatMap(({ state, verifier, nonce }) => [state, verifier, nonce])
    expect(new Set(values).size).toBe(6)
  })

  it('shows nothing of itself, and does not open once altered', () => {
    const { attempts } = setUp()
    const attempt = attempts.begin('provider_a', '/secret-place', newSignIn)
    const sealed = attempts.seal(attempt)
    const bytes = Buffer.from(sealed, 'base64url')
    expect(bytes.toString('latin1')).not.toContain('secret-place')
    for (let index = 0; index < bytes.length; index += 7) {
      const altered = Buffer.from(bytes)
      altered[index] = (altered[index] ?? 0) ^ 1
      expect(attempts.open(altered.toString('base64url'))).toBeUndefined()
    }
  })

  it('ends after ten minutes', () => {
    const { attempts, clock } = setUp()
    const sealed = attempts.seal(attempts.begin('provider_a', '/', newSignIn))
    clock.advance(10 * minutes - 1000)
    expect(attempts.open(sealed)).toBeDefined()
    clock.advance(1001)
    expect(attempts.open(sealed)).toBeUndefined()
  })

  it('leaves room for the other cookies', () => {
    const { attempts } = setUp()
    const attempt = attempts.begin('provider_a', `/${'a'.repeat(200)}`, {
      kind: 'link',
      userId: crypto.randomUUID(),
      sessionId: crypto.randomUUID(),
    })
    expect(attempts.seal(attempt).length).toBeLessThan(800)
  })

  it('ignores what another release sealed in another form', () => {
    const { attempts, seal } = setUp()
    const attempt = attempts.begin('provider_a', '/', newSignIn)
    const sealed = { ...attempt, expiresAt: attempt.expiresAt.getTime() }
    expect(attempts.open(seal.seal(JSON.stringify(sealed)))).toEqual(attempt)
    for (const text of [
      ...['{', '', '{}', '[]', 'null', '7', '["provider_c"]', '["provider_a",1,2,3,4,5]'],
      `["provider_a","state","verifier","nonce",${sealed.expiresAt},"/dashboard"]`,
      JSON.stringify({ ...sealed, provider: '../provider' }),
      JSON.stringify({ ...sealed, purpose: { kind: 'link', userId: 'user' } }),
      JSON.stringify({ ...sealed, purpose: undefined }),
      JSON.stringify({ ...sealed, state: 1 }),
      JSON.stringify({ ...sealed, purpose: { ...newSignIn, knownDevices: 'all' } }),
      JSON.stringify({ ...sealed, purpose: { ...newSignIn, earlierSession: { userId: 'user' } } }),
      JSON.stringify({ ...sealed, purpose: { ...newSignIn, facts: { methods: 'pwd' } } }),
    ])
      expect(attempts.open(seal.seal(text)), text).toBeUndefined()
  })
})
