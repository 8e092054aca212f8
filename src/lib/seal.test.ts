import { createSecretKey, randomBytes } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createSeal } from './seal.js'

const key = () => createSecretKey(randomBytes(32))

describe('a seal', () => {
  it('opens what it sealed, whatever the text', () => {
    const { seal, open } = createSeal([key()])
    fc.assert(fc.property(fc.string({ unit: 'grapheme' }), (text) => open(seal(text)) === text))
    expect(open(seal(''))).toBe('')
  })

  it('never writes the same text twice, and fits into a cookie or an address', () => {
    const { seal } = createSeal([key()])
    const sealed = seal('the same text')
    expect(seal('the same text')).not.toBe(sealed)
    expect(sealed).toMatch(/^[A-Za-z0-9_-]+$/)
  })

  it('opens with every key and seals with the newest', () => {
    const [older, newer] = [key(), key()]
    const sealed = createSeal([older]).seal('from before')
    const both = createSeal([newer, older])
    expect(both.open(sealed)).toBe('from before')
    expect(createSeal([newer]).open(both.seal('from after'))).toBe('from after')
    expect(createSeal([older]).open(both.seal('from after'))).toBeUndefined()
  })

  it('opens only together with what it is bound to', () => {
    const { seal, open } = createSeal([key()])
    const sealed = seal('text', 'row 1')
    expect(open(sealed, 'row 1')).toBe('text')
    for (const other of ['row 2', 'row 1 ', '']) expect(open(sealed, other)).toBeUndefined()
    expect(open(sealed)).toBeUndefined()
    expect(open(seal('text'), 'row 1')).toBeUndefined()
  })

  it('opens nothing that was altered in any single character, cut or lengthened', () => {
    const { seal, open } = createSeal([key()])
    const sealed = seal('a text of some length')
    for (let at = 0; at < sealed.length; at += 1) {
      const other = sealed[at] === 'A' ? 'B' : 'A'
      expect(open(sealed.slice(0, at) + other + sealed.slice(at + 1))).toBeUndefined()
      expect(open(sealed.slice(0, at))).toBeUndefined()
    }
    expect(open(`${sealed}A`)).toBeUndefined()
  })

  it('opens no other spelling of the same bytes, and nothing malformed', () => {
    const { seal, open } = createSeal([key()])
    const sealed = seal('12')
    for (const odd of [
      '',
      '=',
      ' ',
      `${sealed}=`,
      `${sealed}\n`,
      ` ${sealed}`,
      sealed.replace(/.$/, '*'),
      'é',
      'AAAA',
    ]) {
      expect(open(odd)).toBeUndefined()
    }
    fc.assert(fc.property(fc.string(), (text) => open(text) === undefined))
  })

  it('says in its first byte how it is sealed, and opens no other version', () => {
    const { seal, open } = createSeal([key()])
    const bytes = Buffer.from(seal('text'), 'base64url')
    expect(bytes[0]).toBe(1)
    for (const other of [0, 2, 255]) {
      expect(open(Buffer.concat([Buffer.of(other), bytes.subarray(1)]).toString('base64url'))).toBeUndefined()
    }
  })

  it('without a key seals nothing and opens nothing', () => {
    const { seal, open } = createSeal([])
    expect(() => seal('text')).toThrow('JWT_SECRET is missing')
    expect(open(createSeal([createSecretKey(Buffer.alloc(32, 1))]).seal('text'))).toBeUndefined()
  })
})
