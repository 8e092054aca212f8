import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createCsvReader } from './csv.js'
import { csvLine } from './input.js'

const read = (text: string, pieceLength = text.length || 1) => {
  const reader = createCsvReader()
  const rows = []
  for (let at = 0; at < text.length; at += pieceLength) rows.push(...reader.push(text.slice(at, at + pieceLength)))
  return [...rows, ...reader.end()]
}

describe('reading CSV', () => {
  it.each([
    [
      'a,b\r\nc,d\r\n',
      [
        ['a', 'b'],
        ['c', 'd'],
      ],
    ],
    [
      'a,b\nc,d',
      [
        ['a', 'b'],
        ['c', 'd'],
      ],
    ],
    ['"a","b"\r\n', [['a', 'b']]],
    ['"a,b",c\n', [['a,b', 'c']]],
    ['"say ""hi""",x\n', [['say "hi"', 'x']]],
    ['"",\n', [['', '']]],
    ['""\n', [['']]],
    [',\n', [['', '']]],
    ['"two\r\nlines",x\n', [['two\r\nlines', 'x']]],
    ['"ends with CR\r",x\n', [['ends with CR\r', 'x']]],
    ['a,\r\n', [['a', '']]],
    ['a, "b"\n', 'a quote inside a field that does not begin with one'],
    ['"a"b,c\n', 'text after the closing quote of a field'],
    ['"a', 'the quotes of a field are never closed'],
    ['', []],
    ['\n\r\n\n', []],
    ['Grüße,日本,🔑\n', [['Grüße', '日本', '🔑']]],
  ])('reads %j', (text, expected) => {
    for (const pieceLength of [1, 2, 3, text.length || 1]) {
      const rows = read(text, pieceLength).map((row) => ('cells' in row ? row.cells : row.fault))
      expect(rows).toEqual(typeof expected === 'string' ? [expected] : expected)
    }
  })

  it('goes on after a broken record and counts lines through line breaks in quotes', () => {
    expect(read('a,b\n5" pipe,x\n"one\ntwo",y\n\nlast,z\n')).toEqual([
      { line: 1, cells: ['a', 'b'] },
      { line: 2, fault: 'a quote inside a field that does not begin with one' },
      { line: 3, cells: ['one\ntwo', 'y'] },
      { line: 6, cells: ['last', 'z'] },
    ])
  })

  it.each([
    ['a bare field', 'x'.repeat(2_000)],
    ['a quoted field with line breaks', `"${'x,""\n'.repeat(400)}"`],
    ['many fields', 'x,'.repeat(1_000)],
  ])('reports a record that is too long and goes on after it: %s', (_, long) => {
    const reader = createCsvReader({ maximumLength: 1_000 })
    const rows = [...reader.push(`a,b\n${long},y\nc,d\n`), ...reader.end()]
    const next = 3 + long.split('\n').length - 1
    expect(rows).toEqual([
      { line: 1, cells: ['a', 'b'] },
      { line: 2, fault: 'has more than 1,000 characters: shorten or remove it' },
      { line: next, cells: ['c', 'd'] },
    ])
  })

  it('says of a quote that is never closed where it began, however long the rest is', () => {
    const reader = createCsvReader({ maximumLength: 1_000 })
    const rows = [...reader.push(`a,b\n"${'x\n'.repeat(2_000)}`), ...reader.end()]
    expect(rows).toEqual([
      { line: 1, cells: ['a', 'b'] },
      { line: 2, fault: 'the quotes of a field are never closed' },
    ])
  })

  it('reads back whatever was written, in pieces of any size', () => {
    const table = fc.array(
      fc.array(fc.string({ unit: fc.constantFrom('a', '"', ',', '\r', '\n', 'é') }), { minLength: 2 }),
    )
    fc.assert(
      fc.property(table, fc.integer({ min: 1, max: 7 }), (rows, pieceLength) => {
        const text = rows.map(csvLine).join('')
        expect(read(text, pieceLength).map((row) => 'cells' in row && row.cells)).toEqual(rows)
      }),
    )
  })
})

it('puts what a spreadsheet may split at into quotes', () => {
  expect(csvLine(['a;@b', 'c\td', 'e'])).toBe('"a;@b","c\td",e\r\n')
})
