import bcrypt from 'bcrypt'
import { describe, expect, it } from 'vitest'
import { condensed, costOf, createDecoy } from './hashes.js'

describe('hashes', () => {
  it.each([
    ['$2b$12$Q/mnYau2h6pnhi3qmsiOqekLQIUzvZY8zefAZFzZZVa3BIPA7P7Pa', 12],
    ['$2a$04$Q/mnYau2h6pnhi3qmsiOqekLQIUzvZY8zefAZFzZZVa3BIPA7P7Pa', 4],
    ['$2y$10$Q/mnYau2h6pnhi3qmsiOqekLQIUzvZY8zefAZFzZZVa3BIPA7P7Pa', 10],
    ['$2x$10$Q/mnYau2h6pnhi3qmsiOqekLQIUzvZY8zefAZFzZZVa3BIPA7P7Pa', undefined],
    ['$2b$03$Q/mnYau2h6pnhi3qmsiOqekLQIUzvZY8zefAZFzZZVa3BIPA7P7Pa', undefined],
    ['$2b$12$tooshort', undefined],
    ['plain text', undefined],
    ['', undefined],
  ])('the cost of %s is %s', (hash, cost) => {
    expect(costOf(hash)).toBe(cost)
  })

  it('a decoy is a hash of its cost that matches nothing', () => {
    const decoy = createDecoy(5)
    expect(costOf(decoy)).toBe(5)
    expect(createDecoy(5)).not.toBe(decoy)
    for (const password of ['', 'password', decoy]) expect(bcrypt.compareSync(password, decoy)).toBe(false)
  })

  it('leaves up to 72 bytes alone and condenses more to 64 plain characters', () => {
    expect(condensed('x'.repeat(72))).toBe('x'.repeat(72))
    expect(condensed('é'.repeat(36))).toBe('é'.repeat(36))
    for (const long of ['x'.repeat(73), 'é'.repeat(37), '😀'.repeat(19)]) {
      expect(condensed(long)).toMatch(/^[A-Za-z0-9+/]{64}$/)
    }
  })

  it('condenses in one way for ever: stored hashes depend on it', () => {
    expect(condensed('x'.repeat(73))).toBe('pB3PcFiP4ugeSfaW8PZ0RWQ6qC2CwBV3P9A1q8sepMHjAJSyOpdd4/ymv2jpYOkw')
  })
})
