import { readFile } from 'node:fs/promises'
import { describe, expect, it } from 'vitest'
import { languages } from '#contract/languages.js'
import { catalogue, sections } from './catalogue.js'
import { en } from './en.js'
import { fill } from './format.js'

type Texts = { [name: string]: string | Texts }

const flat = (texts: Texts, path = ''): [string, string][] =>
  Object.entries(texts).flatMap(([name, text]) =>
    typeof text === 'string' ? [[`${path}/${name}`, text] as [string, string]] : flat(text, `${path}/${name}`),
  )
const places = (text: string) => [...text.matchAll(/\{\w+\}/g)].map(([place]) => place).sort()

describe('the catalogue', () => {
  it.each(Object.entries(catalogue))('in %s leaves nothing empty and no place unfilled', (_language, words) => {
    const english = new Map(flat(en))
    for (const [path, text] of flat(words)) {
      expect(text.trim(), path).not.toBe('')
      expect(places(text), path).toEqual(places(english.get(path) ?? ''))
    }
  })

  it('is translated, not copied', () => {
    const english = new Map(flat(en))
    for (const language of languages.filter((each) => each !== 'en')) {
      const same = flat(catalogue[language]).filter(([path, text]) => english.get(path) === text)
      expect(same.map(([path]) => path).length, language).toBeLessThan(5)
    }
  })
})

/** The parts of the catalogue that a file and everything it imports asks for. */
const partsUsedBy = async (file: URL, seen = new Set<string>()): Promise<string[]> => {
  if (seen.has(file.href)) return []
  seen.add(file.href)
  const text = await readFile(file, 'utf8').catch(() => readFile(new URL(file.href.replace(/ts$/, 'tsx')), 'utf8'))
  const imports = [...text.matchAll(/^import (?!type).*?from '(\.[^']+)\.js'$/gms)].map(([, path]) => path)
  const further = await Promise.all(imports.map((path) => partsUsedBy(new URL(`${path}.ts`, file), seen)))
  return [...[...text.matchAll(/useWords\('([\w-]+)'\)/g)].map(([, part]) => part ?? ''), ...further.flat()]
}

describe('the word E-Mail', () => {
  it('has a hyphen at which no line ends', () => {
    const texts = Object.values(catalogue).flatMap((words) => flat(words))
    for (const [path, text] of texts) expect(text, path).not.toMatch(/\be-mail/i)
    expect(catalogue.de['account-life'].languageTitle).toBe('Sprache der E\u2011Mails')
  })
})

describe('the French texts', () => {
  it('keep a sign of punctuation on the line of its word', () => {
    for (const [path, text] of flat(catalogue.fr)) expect(text, path).not.toMatch(/ [?!:;»]|« /)
  })
})

/** The server writes these into the page, also where no script runs. */
const ofServer: Readonly<Record<string, readonly string[]>> = { setup: ['setup-proxy'] }

describe('the words of a page', () => {
  it.each(Object.entries(sections))('%s: it gets every part that it asks for, and no other', async (page, parts) => {
    const used = await partsUsedBy(new URL(`../pages/${page}.tsx`, import.meta.url))
    expect([...new Set([...used, ...(ofServer[page] ?? [])])].sort()).toEqual([...parts].sort())
  })
})

describe('fill', () => {
  it('puts values into their places and leaves an unknown place as it is', () => {
    expect(fill('Hello, {name} of {town}', { name: '{town}' })).toBe('Hello, {town} of {town}')
  })
})
