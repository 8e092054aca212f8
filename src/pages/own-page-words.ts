import { type Language, languages } from '../contract/languages.js'
import type { PageName } from '../contract/pages.js'
import type { OwnTexts } from '../messages/own-mail-words.js'
import type { Assets, BuiltManifest } from './assets.js'

type Texts = Readonly<Record<string, string>>

const flatten = (value: unknown, key: string): (readonly [string, string])[] => {
  if (typeof value === 'string') return [[key, value]]
  return typeof value === 'object' && value !== null
    ? Object.entries(value).flatMap(([name, inner]) => flatten(inner, key === '' ? name : `${key}.${name}`))
    : []
}

/** All sections of texts: those of the pages, and those beside them, such as the page for unknown paths. */
const sectionsOf = ({ pages, plainPages }: BuiltManifest, language: Language) => {
  const plainSections = Object.entries(plainPages).map(([name, page]) => {
    const { footer, ...words } = page.words[language]
    return { footer, [name]: words }
  })
  const pageSections = Object.values(pages).map((page) => page.words[language].sections)
  const merged: Record<string, object> = {}
  // A section may have more texts on one page than on another.
  for (const [name, section] of [...plainSections, ...pageSections].flatMap((each) =>
    Object.entries<object>(each as Record<string, object>),
  ))
    merged[name] = { ...merged[name], ...section }
  return merged
}

/** Every text of pages that can be replaced, with its placeholders: `{provider}`. */
export const pageTexts = (manifest: BuiltManifest): Record<Language, Texts> =>
  Object.fromEntries(
    languages.map((language) => [language, Object.fromEntries(flatten(sectionsOf(manifest, language), ''))]),
  ) as Record<Language, Texts>

const replaceTexts = <Value>(value: Value, key: string, ownTexts: Texts): Value => {
  if (typeof value === 'string') return (ownTexts[key] ?? value) as Value
  if (typeof value !== 'object' || value === null) return value
  const replaced = Object.entries(value).map(([name, inner]) => [
    name,
    replaceTexts(inner, key === '' ? name : `${key}.${name}`, ownTexts),
  ])
  return (Array.isArray(value) ? replaced.map(([, inner]) => inner) : Object.fromEntries(replaced)) as Value
}

/** The pages with the texts of the operator in their places. Pages without such texts stay as they are. */
export const withOwnTexts = (assets: Assets, ownTexts: OwnTexts): Assets => {
  const inEachLanguage = <Words>(words: Record<Language, Words>, replace: (words: Words, ownTexts: Texts) => Words) =>
    Object.fromEntries(
      languages.map((language) => {
        const texts = ownTexts[language]
        return [language, texts ? replace(words[language], texts) : words[language]]
      }),
    ) as Record<Language, Words>
  const pages = Object.entries(assets.pages).map(([name, page]) => {
    const words = inEachLanguage(page.words, ({ title, withoutScript, footer, sections }, texts) => ({
      title: texts[`${name}.title`] ?? title,
      withoutScript: replaceTexts(withoutScript, 'common', texts),
      footer: replaceTexts(footer, 'footer', texts),
      sections: replaceTexts(sections, '', texts),
    }))
    return [name, { ...page, words }]
  })
  const plainPages = Object.entries(assets.plainPages).map(([name, page]) => {
    const words = inEachLanguage(page.words, ({ footer, ...plainTexts }, texts) => ({
      ...replaceTexts(plainTexts, name, texts),
      footer: replaceTexts(footer, 'footer', texts),
    }))
    return [name, { ...page, words }]
  })
  return {
    ...assets,
    pages: Object.fromEntries(pages) as Record<PageName, Assets['pages'][PageName]>,
    plainPages: Object.fromEntries(plainPages) as Assets['plainPages'],
  }
}
