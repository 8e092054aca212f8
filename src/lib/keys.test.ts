import { hkdfSync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { deriveKey } from './random.js'

describe('a derived key', () => {
  it('has 32 bytes and is the same every time', () => {
    expect(deriveKey('a secret', 'mail').symmetricKeySize).toBe(32)
    expect(deriveKey('a secret', 'mail').equals(deriveKey('a secret', 'mail'))).toBe(true)
  })

  it('differs for another purpose and for another secret', () => {
    const key = deriveKey('a secret', 'mail')
    expect(deriveKey('a secret', 'csrf').equals(key)).toBe(false)
    expect(deriveKey('another secret', 'mail').equals(key)).toBe(false)
  })

  it('is HKDF with SHA-256, no salt, and the purpose as info', () => {
    expect(deriveKey('ключ', 'mail').export()).toEqual(
      Buffer.from(hkdfSync('sha256', Buffer.from('ключ', 'utf8'), Buffer.alloc(0), Buffer.from('mail'), 32)),
    )
  })
})
