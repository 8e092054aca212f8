import { describe, expect, it } from 'vitest'
import { createJsonLinesReader } from './input.js'

const read = (text: string, pieceLength = 3, maximumLength = 100) => {
  const reader = createJsonLinesReader({ maximumLength })
  const lines = []
  for (let at = 0; at < text.length; at += pieceLength) lines.push(...reader.push(text.slice(at, at + pieceLength)))
  return [...lines, ...reader.end()]
}

describe('reading JSON lines', () => {
  it('reads an object a line, in pieces, with or without a last line break, and passes over empty lines', () => {
    const expected = [
      { line: 1, value: { a: 1 } },
      { line: 3, value: { b: 'ü' } },
    ]
    expect(read('{"a":1}\r\n\n{"b":"ü"}')).toEqual(expected)
    expect(read('{"a":1}\n \n{"b":"ü"}\n')).toEqual(expected)
    expect(read('')).toEqual([])
  })

  it('reports what is no object and goes on', () => {
    expect(read('{"a":\n[1]\nnull\n"x"\n{"b":2}\n')).toEqual([
      { line: 1, fault: 'not valid JSON' },
      { line: 2, fault: 'not a JSON object' },
      { line: 3, fault: 'not a JSON object' },
      { line: 4, fault: 'not a JSON object' },
      { line: 5, value: { b: 2 } },
    ])
  })

  it('keeps no more of an endless line than it must', () => {
    const lines = read(`{"a":"${'x'.repeat(10_000)}"}\n{"b":2}\n`)
    expect(lines).toEqual([
      { line: 1, fault: 'has more than 100 characters: shorten or remove it' },
      { line: 2, value: { b: 2 } },
    ])
  })
})
