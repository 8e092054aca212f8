import { describe, expect, it } from 'vitest'
import { isToken, newToken, tokenIn } from './token-text.js'

const token = newToken()
const basic = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`

describe('a token', () => {
  it('has a beginning that is found, and a check sum that finds typing errors', () => {
    expect(token).toMatch(/^lk_[\w-]{43}[\dA-Za-z]{6}$/)
    expect(isToken(token)).toBe(true)
    for (let at = 3; at < token.length; at += 1) {
      const other = token[at] === 'a' ? 'b' : 'a'
      expect(isToken(token.slice(0, at) + other + token.slice(at + 1)), String(at)).toBe(false)
    }
    expect([isToken(''), isToken('lk_'), isToken(` ${token}`), isToken(`${token}\n`)]).toEqual(Array(4).fill(false))
  })

  it('is different each time', () => {
    expect(new Set(Array.from({ length: 100 }, newToken)).size).toBe(100)
  })
})

describe('an Authorization', () => {
  it.each([
    [`Bearer ${token}`, { token, scheme: 'bearer' }],
    [`bearer   ${token} `, { token, scheme: 'bearer' }],
    [`Bearer${' '.repeat(15_000)}${token}`, { token, scheme: 'bearer' }],
    ['Bearer lk_wrong', { token: 'lk_wrong', scheme: 'bearer' }],
    [basic(`ada:${token}`), { token, scheme: 'basic' }],
    [basic(`:${token}`), { token, scheme: 'basic' }],
    [basic('ada:lk_wrong'), { token: 'lk_wrong', scheme: 'basic' }],
  ])('gives its token: %s', (value, given) => expect(tokenIn(value)).toEqual(given))

  it.each([
    token,
    `Token ${token}`,
    `Token token="${token}"`,
    `Digest username="a", response="${token}"`,
    `Bearer x${token}`,
    `Bearer lk_${token}`,
    basic(`${token}:`),
    basic(`${token}:x`),
    basic(token),
    basic(`ada:x${token}`),
    'lk_',
    'lk_x y',
  ])('that has a token elsewhere opens nothing, and is not for the application: %s', (value) => {
    const given = tokenIn(value)
    expect(given).toBeDefined()
    expect(isToken(given?.token ?? '')).toBe(false)
  })

  it.each([
    undefined,
    '',
    'Bearer eyJhbGciOiJub25lIn0.e30.',
    `Bearer eyJ${token.slice(0, -1)}-`,
    'Bearer abclk_defghi',
    `Bearer ${' '.repeat(15_000)}x${' '.repeat(15_000)}y`,
    basic('ada:password'),
    basic('ada:mylk_password'),
    'Basic !!!',
    'Basic',
    'Negotiate YII=',
  ])('is for the application without one: %s', (value) => expect(tokenIn(value)).toBeUndefined())
})
