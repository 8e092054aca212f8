import { describe, expect, it } from 'vitest'
import { createHashedWords, encodeHashedWords } from './hashed-words.js'

const listed = Array.from({ length: 20_000 }, (_, at) => `listed${at.toString(36)}`)
const words = createHashedWords(
  encodeHashedWords([
    { kind: 'word', cost: 4, texts: ['dragon', 'monkey', 'dragon'] },
    { kind: 'word', cost: 5, texts: [...listed, 'monkey'] },
    { kind: 'entry', cost: 5, texts: ['p@ssw0rd!'] },
  ]),
)

describe('a list of hashes', () => {
  it('has what was put into it, at the cost of its first section', () => {
    expect([words.word('dragon'), words.word('monkey'), words.entry('p@ssw0rd!')]).toEqual([4, 4, 5])
    expect(listed.filter((text) => words.word(text) !== 5)).toEqual([])
  })

  it('has nothing else, and keeps words and entries apart', () => {
    const others = Array.from({ length: 20_000 }, (_, at) => `other${at.toString(36)}`)
    expect(others.filter((text) => words.word(text) < Number.POSITIVE_INFINITY)).toEqual([])
    expect([words.entry('dragon'), words.word('p@ssw0rd!')]).toEqual([
      Number.POSITIVE_INFINITY,
      Number.POSITIVE_INFINITY,
    ])
  })

  it('is refused if it is none', () => {
    expect(() => createHashedWords(Buffer.from('something else'))).toThrow('no list of common words')
    expect(() => createHashedWords(new Uint8Array())).toThrow('no list of common words')
  })
})
