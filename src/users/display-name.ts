import { longestName } from '../contract/names.js'

/** Scripts whose letters change their shape next to a joiner. In other scripts a joiner would only hide in a name. */
const scriptsWithJoiners = [
  'Arabic',
  'Syriac',
  'Mongolian',
  'Devanagari',
  'Bengali',
  'Gurmukhi',
  'Gujarati',
  'Oriya',
  'Tamil',
  'Telugu',
  'Kannada',
  'Malayalam',
  'Sinhala',
  'Myanmar',
  'Khmer',
  'Tibetan',
]
const letter = `[${scriptsWithJoiners.map((script) => `\\p{Script=${script}}`).join('')}]`
const emoji = '\\p{Extended_Pictographic}'

/** A joiner between two letters of these scripts, as in Persian names, or between two emoji that are drawn as one. */
const usefulJoiner = `(?<=${letter}\\p{M}*)[\\u200c\\u200d](?=${letter})|(?<=${emoji}[\\p{Emoji_Modifier}\\ufe0f]*)\\u200d(?=${emoji})`
const invisible = new RegExp(`(?!${usefulJoiner})\\p{C}`, 'gu')

/**
 * A name that is safe to show: one line, without control characters, escape sequences or invisible characters that change
 * the text direction, and of limited length. Null if nothing is left.
 */
export const displayName = (name: unknown, longest = longestName): string | null => {
  if (typeof name !== 'string') return null
  const visibleName = name.toWellFormed().replaceAll(/\s+/g, ' ').replaceAll(invisible, '').trim()
  // Invisible letters alone, such as the Hangul filler, are no name.
  if (/^\p{Default_Ignorable_Code_Point}*$/u.test(visibleName)) return null
  const shortName = Array.from(visibleName).slice(0, longest).join('')
  // The cut may have separated a joiner from its second letter.
  return shortName.replace(/[\s\u200c\u200d]+$/, '')
}
