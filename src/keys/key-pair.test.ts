import { createHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createTokenKey, newKeyPair } from './key-pair.js'

const secret = 'f3a1c9e07b5d482693ae10cf7d86b24e5908d1f7a63bc4e2971d05f8ab36c7e4'
const encode = (text: string) => Buffer.from(text).toString('base64url')
const signed = (header: string, payload: string) => {
  const text = `${header}.${encode(payload)}`
  return `${text}.${createHmac('sha256', secret).update(text).digest('base64url')}`
}

describe('a key of tokens', () => {
  const key = createTokenKey('at+jwt', { algorithm: 'HS256', kid: 'one', secret })

  it('reads what it has signed, with any letters', () => {
    const claims = { name: 'Zoë 😀', iat: 1, amr: ['pwd'], none: null }
    expect(key.verify(key.sign(claims))).toEqual(claims)
    expect(key.sign(claims)).toBe(signed(key.header, JSON.stringify(claims)))
  })

  it.each(['null', '[]', '1', '"text"', '{', ''])('reads no payload that is no object: %s', (payload) => {
    expect(key.verify(signed(key.header, payload))).toBeUndefined()
  })

  it('reads a token with its own header only, although its secret has signed another one', () => {
    const others = [
      { alg: 'HS256', typ: 'rt+jwt', kid: 'one' },
      { alg: 'HS256', typ: 'at+jwt', kid: 'one', crit: ['b64'] },
    ]
    for (const header of others) expect(key.verify(signed(encode(JSON.stringify(header)), '{"iat":1}'))).toBeUndefined()
    expect(key.verify(signed(key.header, '{"iat":1}'))).toEqual({ iat: 1 })
  })

  it('reads no text of more than 2048 characters', () => {
    const longestPayload = Math.floor(((2048 - key.header.length - 45) * 3) / 4)
    const payloadOf = (length: number) => `{"a":"${'x'.repeat(length - 8)}"}`
    expect(key.verify(signed(key.header, payloadOf(longestPayload)))).toBeDefined()
    expect(key.verify(signed(key.header, payloadOf(longestPayload + 1)))).toBeUndefined()
  })

  it('with two halves reads what it has signed, and nothing of another pair', async () => {
    const [pair, other] = [await newKeyPair('ES256'), await newKeyPair('ES256')]
    const ofPair = createTokenKey('at+jwt', { algorithm: 'ES256', kid: 'one', pair })
    const ofOther = createTokenKey('at+jwt', { algorithm: 'ES256', kid: 'one', pair: other })
    expect(ofPair.verify(ofPair.sign({ iat: 1 }))).toEqual({ iat: 1 })
    expect(ofPair.verify(ofOther.sign({ iat: 1 }))).toBeUndefined()
  })
})
