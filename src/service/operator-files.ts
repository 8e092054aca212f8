import { readFile, stat } from 'node:fs/promises'
import { isLanguage, type Language, languages } from '../contract/languages.js'
import type { ProfileFieldDefinition } from '../contract/profile-fields.js'
import { contrastFaults, type Design, designOf, isColour, type Theme } from '../lib/design.js'
import { colours, fonts, radii } from '../lib/design-tokens.js'
import { OperatorError, whyUnreadable } from '../lib/operator-error.js'
import {
  FaultAtPlace,
  faultAt,
  isCleanText,
  listAt,
  numberAt,
  objectAt,
  parseStrictJson,
  textAt,
} from '../lib/strict-json.js'
import { placeholdersIn } from '../lib/text.js'
import { mailTexts, type OwnTexts } from '../messages/own-mail-words.js'
import { readManifest } from '../pages/assets.js'
import { pageTexts } from '../pages/own-page-words.js'
import { readFieldDefinitions } from '../users/field-definitions.js'

/** The line and column of a character, counted from 1 as editors do. */
const placeOf = (text: string, position: number) => {
  const lines = text.slice(0, position).split('\n')
  return `line ${lines.length}, column ${(lines.at(-1) ?? '').length + 1}`
}

const encodingFault = (bytes: Uint8Array) => {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let text = ''
  try {
    for (let index = 0; index < bytes.length; index++)
      text += decoder.decode(bytes.subarray(index, index + 1), { stream: true })
    decoder.decode()
    return undefined
  } catch {
    return `is not UTF-8 at ${placeOf(text, text.length)}: save it as UTF-8`
  }
}

const parserFault = (text: string) => {
  try {
    JSON.parse(text)
    return undefined
  } catch (error) {
    return error instanceof Error ? error.message : ''
  }
}

/** Node's parser names the position of a fault in characters, or only repeats the text around it. An operator needs the line. */
const withLineNumber = (text: string, message: string) => {
  const [, fault, position] = /^(.+?)(?: in JSON at position (\d+).*|, (?:\.{3})?".*)$/s.exec(message) ?? []
  if (fault === undefined) return message
  const lines = text.split('\n')
  // JSON that is cut off before the fault has another fault. So the first lines up to the line of the fault are the fewest that have it.
  const line = position
    ? text.slice(0, Number(position)).split('\n').length
    : 1 + lines.findIndex((_, at) => parserFault(lines.slice(0, at + 1).join('\n'))?.startsWith(fault))
  return `${fault} in line ${line}`
}

const syntaxFault = (text: string) => {
  const message = parserFault(text)
  return message === undefined ? undefined : `is no JSON: ${withLineNumber(text, message)}`
}

const uncleanTextFault = (text: string) =>
  text.includes('\0') ? 'the character \\u0000' : 'half of a character that needs two \\u escapes'

/**
 * Finds what `parseStrictJson` refuses although it is JSON: keys that stand twice, the keys `__proto__` and
 * `constructor`, and texts that cannot be stored.
 */
const findStrictFault = (json: string) => {
  const keysOfOpenObjects: Set<string>[] = []
  for (const { 0: token, 1: colon, index } of json.matchAll(/"(?:[^"\\]|\\.)*"(\s*:)?|[{}]/g)) {
    if (token === '{') keysOfOpenObjects.push(new Set())
    else if (token === '}') keysOfOpenObjects.pop()
    else {
      const text: string = JSON.parse(token.slice(0, token.lastIndexOf('"') + 1))
      if (!isCleanText(text)) return `has ${uncleanTextFault(text)} in the text at ${placeOf(json, index)}`
      if (colon === undefined) continue
      const keys = keysOfOpenObjects.at(-1)
      if (keys?.has(text)) return `has the key ${JSON.stringify(text)} a second time at ${placeOf(json, index)}`
      if (text === '__proto__' || text === 'constructor')
        return `has the key "${text}", which is not known, at ${placeOf(json, index)}`
      keys?.add(text)
    }
  }
  return undefined
}

/** A sentence about bytes that `parseStrictJson` refuses: the fault, and its place. */
const jsonFault = (bytes: Uint8Array) => {
  const text = new TextDecoder().decode(bytes)
  return encodingFault(bytes) ?? syntaxFault(text) ?? findStrictFault(text) ?? 'cannot be read as JSON'
}

/** More than a file with all texts in all languages needs. */
const maxMegabytes = 4

/** Reads a JSON file that a setting names. A fault in it stops the start, with a sentence that names the place of the fault. */
export const readOperatorFile = async <Content>(
  setting: string,
  path: string,
  read: (value: unknown) => Content,
): Promise<Content> => {
  const fault = (sentence: string) => new OperatorError(`${setting}: ${sentence}`)
  const throwUnreadable = (error: unknown): never => {
    throw fault(`the file cannot be read: ${path} (${whyUnreadable(error)})`)
  }
  const { size } = await stat(path).catch(throwUnreadable)
  if (size > maxMegabytes * 1_000_000) throw fault(`${path} is larger than ${maxMegabytes} MB (${size} bytes)`)
  const bytes = await readFile(path).catch(throwUnreadable)
  const parsed = parseStrictJson(bytes)
  if (!parsed) throw fault(`${path} ${jsonFault(bytes)}`)
  try {
    return read(parsed.value)
  } catch (error) {
    if (error instanceof FaultAtPlace) throw fault(`${error.message} (${path})`)
    throw error
  }
}

const { shadow: _, ...plainColours } = colours.light
const colourNames = ['accent', ...Object.keys(plainColours)]
const schemes = ['light', 'dark'] as const

const colourAt = (value: unknown, place: string) =>
  typeof value === 'string' && isColour(value)
    ? value.toLowerCase()
    : faultAt(`${place} must be a colour such as #2f6fed`)

/** Keywords of CSS, with which the browser chooses the font. They are written without quotation marks. */
const genericFamilies = [
  'system-ui',
  'sans-serif',
  'serif',
  'monospace',
  'ui-sans-serif',
  'ui-serif',
  'ui-monospace',
  'ui-rounded',
]

/** A name is written in quotation marks into style sheets and attributes, so it must not have a character that could end the name there. */
const familyAt = (value: unknown, place: string) => {
  if (typeof value !== 'string' || !/^[\p{L}\p{N}-][\p{L}\p{N} _-]{0,63}$/u.test(value))
    return faultAt(`${place} must be the name of a font: 1 to 64 letters, digits, spaces, hyphens and underscores`)
  return genericFamilies.includes(value) ? value : `'${value}'`
}

const fontAt = (value: unknown, place: string) => {
  const families = listAt(value, place, 10).map((family, at) => familyAt(family, `${place}[${at}]`))
  return genericFamilies.includes(families.at(-1) ?? '')
    ? families.join(',')
    : faultAt(`${place} must end with one of ${genericFamilies.join(', ')}, for devices that have none of the fonts`)
}

const valuesAt = <Value>(
  given: unknown,
  place: string,
  keys: readonly string[],
  read: (value: unknown, place: string) => Value,
) =>
  Object.fromEntries(
    Object.entries(objectAt(given === undefined ? {} : given, place, keys)).map(([key, each]) => [
      key,
      read(each, `${place}.${key}`),
    ]),
  )

const themeIn = (value: unknown): Theme => {
  const given = objectAt(value, 'the file', [...schemes, 'radii', 'fonts'])
  return {
    light: valuesAt(given.light, 'light', colourNames, colourAt),
    dark: valuesAt(given.dark, 'dark', colourNames, colourAt),
    radii: valuesAt(given.radii, 'radii', Object.keys(radii), (radius, place) => numberAt(radius, place, 0, 32)),
    fonts: valuesAt(given.fonts, 'fonts', Object.keys(fonts), fontAt),
  }
}

const checkContrast = (design: Design) => {
  for (const scheme of schemes)
    for (const { colour, surface, actual, minimum } of contrastFaults(design.colours[scheme])) {
      const ratio = Math.floor(actual * 100) / 100
      const { [colour]: front, [surface]: behind } = design.colours[scheme]
      faultAt(
        `${scheme}.${colour} (${front}) on ${scheme}.${surface} (${behind}) has a contrast of ${ratio}:1, and needs at least ${minimum}:1`,
      )
    }
}

/** The design that the JSON of the file describes. A fault is thrown with a sentence that names its place. */
export const designIn = (value: unknown, accent: string): Design => {
  const design = designOf(accent, themeIn(value))
  checkContrast(design)
  return design
}

/** The design of this installation, from THEME_FILE. A colour scheme for which the file names no accent has ACCENT_COLOR. */
export const readDesign = async (config: { themeFile?: string | undefined; accentColor: string }): Promise<Design> => {
  const { themeFile: path, accentColor: accent } = config
  if (path === undefined) return designOf(accent)
  return readOperatorFile('THEME_FILE', path, (value) => designIn(value, accent))
}

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

/** Reads the file of PROFILE_FIELDS_FILE: the fields that users are asked for. */
export const readProfileFields = async (path: string | undefined): Promise<readonly ProfileFieldDefinition[]> =>
  path === undefined ? [] : readOperatorFile('PROFILE_FIELDS_FILE', path, readFieldDefinitions)
