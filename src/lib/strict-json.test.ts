import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { parseStrictJson } from './strict-json.js'

const parse = (text: string) => parseStrictJson(Buffer.from(text))

describe('strict JSON', () => {
  it('reads what JSON.parse reads, whatever is in the texts', () => {
    const clean = fc.string({ unit: 'grapheme' }).filter((text) => !text.includes('\0'))
    const key = clean.filter((text) => !['__proto__', 'constructor'].includes(text))
    const value = fc.oneof(
      clean,
      fc.integer(),
      fc.boolean(),
      fc.constant(null),
      fc.array(clean),
      fc.dictionary(key, clean),
    )
    fc.assert(
      fc.property(fc.dictionary(key, value), fc.constantFrom(undefined, 2), (given, indent) => {
        const text = JSON.stringify(given, null, indent)
        expect(parse(text)).toEqual({ value: JSON.parse(text) })
      }),
      { numRuns: 1000 },
    )
  })

  it.each([
    ['a key twice', '{"a":1,"a":1}'],
    ['a key twice in two spellings', '{"a":1,"\\u0061":1}'],
    ['a key twice inside', '{"x":[{"a":1,"a":2}]}'],
    ['__proto__', '{"__proto__":{}}'],
    ['a NUL', '{"a":"\\u0000"}'],
    ['a lone surrogate', '{"a":["\\udc00"]}'],
    ['a NUL in a key', '{"a\\u0000":1}'],
    ['a lone surrogate in a key', '{"x":[{"\\ud800":1}]}'],
    ['nothing', ''],
    ['two values', '{}{}'],
  ])('refuses %s', (_, text) => {
    expect(parse(text)).toBeUndefined()
  })

  it('is not fooled by colons and braces inside texts', () => {
    expect(parse('{"a":"\\"b\\":","c":"{\\"a\\":1}"}')).toEqual({ value: { a: '"b":', c: '{"a":1}' } })
  })

  it('refuses bytes that are no UTF-8', () => {
    expect(parseStrictJson(Buffer.from([0x22, 0xff, 0x22]))).toBeUndefined()
  })
})
