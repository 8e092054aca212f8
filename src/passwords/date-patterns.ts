import { languages } from '../contract/languages.js'

/** British English abbreviates September in another way than American English. */
const locales = [...languages, 'en-GB']

/** "März" is also typed as "Marz" and "Maerz". */
const spellings = (word: string) => [
  word,
  word.normalize('NFD').replaceAll(/\p{M}/gu, ''),
  word.replaceAll(/[äöü]/g, (letter) => `${letter.normalize('NFD').charAt(0)}e`),
]

/**
 * The names of months in every language of the pages, in full and abbreviated. The longest come first, because a name may begin with
 * another one.
 */
const months = () => {
  const names = locales.flatMap((locale) =>
    (['long', 'short'] as const).flatMap((form) => {
      const format = new Intl.DateTimeFormat(locale, { month: form, timeZone: 'UTC' })
      return Array.from({ length: 12 }, (_, index) => format.format(Date.UTC(2026, index, 15)))
    }),
  )
  const words = names.flatMap((name) => spellings(name.toLowerCase().replace(/\.$/, '')))
  return [...new Set(words)].sort((left, right) => right.length - left.length)
}

/** The words between day, month and year, as in "3 de marzo de 1990". */
const joiningWords = () =>
  locales
    .flatMap((locale) => new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeZone: 'UTC' }).formatToParts(0))
    .flatMap(({ type, value }) => (type === 'literal' && /\p{L}/u.test(value) ? value.trim() : []))

const month = `(?:${months().join('|')})`
const day = '(?:3[01]|[12][0-9]|0?[1-9])(?:st|nd|rd|th|er)?'
const year = '(?:(?:19|20)[0-9]{2}|[0-9]{2})'
const separators = '[ .,/_-]{0,2}'
const joiner = `${separators}(?:(?:${[...new Set(joiningWords())].join('|')})${separators})?`
const numbers = '[0-9]{1,2}'

/** A cost is the log10 of the guesses that are needed: 4.5 for a day within a lifetime, 3 for a month within a lifetime, 1.5 for a year. */
const shapes: readonly (readonly [shape: string, cost: number])[] = [
  [`${month}${joiner}${day}${joiner}${year}`, 4.5],
  [`${day}${joiner}${month}${joiner}${year}`, 4.5],
  [`${year}${joiner}${month}${joiner}${day}`, 4.5],
  [`${numbers}[ ./_-]${numbers}[ ./_-]${year}`, 4.5],
  [`${year}[ ./_-]${numbers}[ ./_-]${numbers}`, 4.5],
  ['(?:19|20)[0-9]{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12][0-9]|3[01])', 4.5],
  ['(?:[0-3][0-9]){2}(?:19|20)[0-9]{2}', 4.5],
  [`${month}${joiner}${year}`, 3],
  ['(?:19|20)[0-9]{2}', 1.5],
]

const patterns = shapes.map(([shape, cost]) => ({ pattern: new RegExp(shape, 'y'), cost }))

/** The dates that begin at this index of a text in lower case. */
export const datesAt = (text: string, start: number) =>
  patterns.flatMap(({ pattern, cost }) => {
    pattern.lastIndex = start
    const match = pattern.exec(text)
    return match === null ? [] : [{ end: start + match[0].length, cost }]
  })
