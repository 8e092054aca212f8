import { describe, expect, it } from 'vitest'
import { readCookieHeader } from './cookie-header.js'

const bytes = Array.from({ length: 256 }, (_, code) => String.fromCharCode(code))
/** What RFC 6265 lets stand around a name; a semicolon ends the cookie before it, and an equals sign its name. */
const around = new Set([' ', '\t', ';'])

describe('a byte beside a name', () => {
  it.each(['__Host-registration', '__Host-csrf_secret', 'access_token'])('makes %s another name', (name) => {
    const readWith = (place: (byte: string) => string) =>
      bytes.filter((byte) => readCookieHeader(`a=1; ${place(byte)}=planted`).values.get(name) === 'planted')
    expect(readWith((byte) => byte + name)).toEqual(bytes.filter((byte) => around.has(byte)))
    expect(readWith((byte) => `${name}${byte}`)).toEqual(['\t', ' '])
    expect(readWith((byte) => `${name.slice(0, 4)}${byte}${name.slice(4)}`)).toEqual([])
  })

  it('does not double a name', () => {
    const header = bytes.filter((byte) => !around.has(byte)).map((byte) => `${byte}key=planted`)
    expect(readCookieHeader([...header, 'key=ours'].join('; '))).toMatchObject({ doubled: new Set() })
    expect(readCookieHeader([...header, 'key=ours'].join('; ')).values.get('key')).toBe('ours')
  })

  it('is kept where it stands in a value', () => {
    expect(readCookieHeader('key=\u00a0value\u00a0; b=2').values.get('key')).toBe('\u00a0value\u00a0')
  })
})

it('takes time in proportion to the length of the header', () => {
  const blanks = `key=a${' '.repeat(1_000_000)}b${'\t'.repeat(1_000_000)}; b=2`
  expect(readCookieHeader(blanks).values.get('key')).toHaveLength(1_000_002)
})
