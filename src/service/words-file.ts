import { isLanguage, type Language, languages } from '../contract/languages.js'
import { faultAt, objectAt, textAt } from '../lib/strict-json.js'
import { placeholdersIn } from '../lib/text.js'

import { mailTexts, type OwnTexts } from '../messages/own-mail-words.js'
import { readManifest } from '../pages/assets.js'
import { pageTexts } from '../pages/own-page-words.js'
import { readOperatorFile } from './operator-file.js'

const parts = ['pages', 'mails'] as const
type Part = (typeof parts)[number]
type Texts = Readonly<Record<string, string>>
/** The operator's own texts of pages and mails, by language and key. */
export type OwnWords = Record<Part, OwnTexts>

/** Every text that can be replaced. */
export const replaceableTexts = (): Record<Part, Record<Language, Texts>> => ({
  pages: pageTexts(readManifest()),
  mails: mailTexts(),
})

/** A text may be twice as long as the original, and in any case 200 characters long. */
const maxLengthFor = (original: string) => Math.max(200, 2 * original.length)

const ownTextAt = (value: unknown, place: string, original: string) => {
  // Soft hyphens are allowed and not counted: they say where a long word may be divided.
  textAt(typeof value === 'string' ? value.replaceAll('\u00ad', '') : value, place, maxLengthFor(original))
  const text = String(value)
  const [entity] = /&(?:[a-z][a-z\d]*|#\d+|#x[\da-f]+);/i.exec(text) ?? []
  if (entity !== undefined)
    faultAt(`${place} has ${entity}, which would be shown as it is written: write the character itself`)
  if (/<[a-z/!]/i.test(text)) faultAt(`${place} must be plain text: HTML would be shown as it is written`)
  const originalPlaceholders = placeholdersIn(original)
  const givenPlaceholders = placeholdersIn(text)
  for (const name of givenPlaceholders)
    if (!originalPlaceholders.has(name))
      faultAt(
        `${place} has the placeholder {${name}}, which is not known here. It can have: ${placeholderList(originalPlaceholders)}`,
      )
  for (const name of originalPlaceholders)
    if (!givenPlaceholders.has(name)) faultAt(`${place} lacks the placeholder {${name}}`)
  return text
}

const placeholderList = (names: ReadonlySet<string>) => [...names].map((name) => `{${name}}`).join(', ') || 'none'

const ownTextsAt = (value: unknown, place: string, originals: Texts) => {
  if (value === undefined) return {}
  const given = objectAt(value, place, Object.keys(value ?? {}))
  return Object.fromEntries(
    Object.entries(given).map(([key, text]) => {
      const original = Object.hasOwn(originals, key) ? originals[key] : undefined
      return original === undefined
        ? faultAt(
            `${place} has the key ${JSON.stringify(key)}, which is not known: latchkey words list prints all keys`,
          )
        : [key, ownTextAt(text, `${place}[${JSON.stringify(key)}]`, original)]
    }),
  )
}

/** The texts in the JSON of the file. A fault is thrown with a sentence that names its place. */
export const ownWordsIn = (value: unknown, texts = replaceableTexts()): OwnWords => {
  const ownWords: OwnWords = { pages: {}, mails: {} }
  for (const [language, given] of Object.entries(objectAt(value, 'the file', languages))) {
    if (!isLanguage(language)) continue
    const languageTexts = objectAt(given, language, parts)
    for (const part of parts)
      ownWords[part][language] = ownTextsAt(languageTexts[part], `${language}.${part}`, texts[part][language])
  }
  return ownWords
}

/** The texts of the file that WORDS_FILE names. */
export const readOwnWords = async ({ wordsFile: path }: { wordsFile?: string | undefined }): Promise<OwnWords> =>
  path === undefined ? { pages: {}, mails: {} } : readOperatorFile('WORDS_FILE', path, (value) => ownWordsIn(value))
