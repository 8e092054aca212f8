import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { languageFrom, languageName, languages, ownNameOf } from './languages.js'

describe('the language of a mail', () => {
  it.each([
    [undefined, 'en'],
    ['', 'en'],
    ['de', 'de'],
    ['de-AT,de;q=0.9,en;q=0.8', 'de'],
    ['fr-CH, fr;q=0.9, en;q=0.8, de;q=0.7, *;q=0.5', 'fr'],
    ['ja, de;q=0.4, fr;q=0.6', 'fr'],
    ['de;q=0, fr;q=0.1', 'fr'],
    ['ja,zh', 'en'],
    ['*', 'en'],
    [';;;q=,,q=x,de;q=banana', 'de'],
    [`${'x'.repeat(100_000)},de`, 'en'],
  ] as const)('answers %s with %s', (header, language) => {
    expect(languageFrom(header)).toBe(language)
  })
})

describe('a language', () => {
  it('has a name in each of our languages', () => {
    expect([languageName('de', 'en'), languageName('en', 'de'), languageName('de', 'fr')]).toEqual([
      'German',
      'Englisch',
      'allemand',
    ])
    expect(languages.map(ownNameOf)).toEqual(['English', 'Deutsch', 'Español', 'Français'])
  })

  it.each(languages)('is named in the guide for operators (npm run docs): %s', async (language) => {
    const guide = await readFile(new URL('../../docs/looks-and-words.md', import.meta.url), 'utf8')
    expect(guide).toMatch(new RegExp(`Pages are in .*${languageName(language, 'en')}`))
  })
})
