import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
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

/** The parts of the catalogue for which the script of a page asks, once the bundler has left out what the page does not use. */
const partsUsedBy = async (page: string) => {
  const { outputFiles } = await build({
    entryPoints: [fileURLToPath(new URL(`../pages/${page}.tsx`, import.meta.url))],
    ...{ bundle: true, write: false, format: 'esm', jsx: 'automatic', jsxImportSource: 'preact' },
  })
  return [...(outputFiles[0]?.text ?? '').matchAll(/useWords\("([\w-]+)"\)/g)].map(([, part]) => part ?? '')
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
    const used = await partsUsedBy(page)
    expect([...new Set([...used, ...(ofServer[page] ?? [])])].sort()).toEqual([...parts].sort())
  })
})

describe('fill', () => {
  it('puts values into their places and leaves an unknown place as it is', () => {
    expect(fill('Hello, {name} of {town}', { name: '{town}' })).toBe('Hello, {town} of {town}')
  })
})
