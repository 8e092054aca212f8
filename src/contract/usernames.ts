/** What is wrong with a username that was typed. */
export const usernameRefusals = [
  'username_length',
  'username_at_sign',
  'username_characters',
  'username_edges',
  'username_alphabets',
] as const
export type UsernameRefusal = (typeof usernameRefusals)[number]

export const longestUsername = 64

/** Characters that cannot be seen, spaces among them, and halves of surrogate pairs. */
const invisible = /[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/u

const latin = /\p{Script=Latin}/u

const resemblesLatin = /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}\p{Script=Coptic}]/u

const modifier = /(?!\u30FC)(?=\p{Lm})[\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}\p{Script=Common}]/u

const latinInUse = /^[A-Z\u00C0-\u024F\u1E00-\u1EFF]/

/**
 * False for letters that no language is written with, or that look like a sign. Among the Latin ones: letters without case, such as
 * those for clicks (`ǃ`), and those whose capital is outside the blocks of living languages, such as small capitals, phonetic signs and
 * `ꞌ`.
 */
const isOrdinary = (letter: string) =>
  !modifier.test(letter) && (!latin.test(letter) || (!/\p{Lo}/u.test(letter) && latinInUse.test(letter.toUpperCase())))

const allowed = /[\p{L}\p{M}\p{Nd}._-]/u

/** A letter may have up to four marks after it. More would be drawn over the text around the name. */
const lettersAndDigits = /^(?:\p{L}\p{M}{0,4}|[\p{Nd}._-])+$/u

/** NFKC has joined every accent in common use with its letter. Any other mark could only decorate another user's name. */
const decorated = /([\p{Script=Latin}\p{Script=Greek}\p{Script=Cyrillic}])\p{M}+/u

const separatorAtEdge = /^[._-]|[._-]$/

/**
 * The alphabets in use today, in which a name is written, with their own marks. Some languages use several of Unicode's scripts
 * together.
 */
const alphabets = [
  'Latin Cyrillic Greek Armenian Georgian Hebrew Arabic Syriac Thaana Ethiopic Devanagari Bengali Gurmukhi Gujarati Oriya Tamil',
  'Telugu Kannada Malayalam Sinhala Thai Lao Tibetan Myanmar Khmer Mongolian Javanese Lisu Yi Nko Tifinagh Cherokee',
  'Canadian_Aboriginal Han+Hiragana+Katakana Han+Hangul Han+Bopomofo',
]
  .flatMap((line) => line.split(' '))
  .map((scripts) => {
    const letters = scripts.split('+').map((script) => `\\p{scx=${script}}`)
    return new RegExp(`^[${letters.join('')}\\d._-]*$`, 'u')
  })

/** Spaces around a name come from pasting and are removed. */
export const normalizedUsername = (text: string) => text.normalize('NFKC').trim()

/** Whether the user has typed this username, to confirm a deletion. Capital letters do not matter, as at a sign-in. */
export const isSameUsername = (typed: string, username: string) =>
  normalizedUsername(typed).toLowerCase() === normalizedUsername(username).toLowerCase()

const lengthRefusal = (username: string) => {
  const length = Array.from(username).length
  return length < 1 || length > longestUsername ? 'username_length' : undefined
}

/** The fault of a normalized username that exists already, is imported, or comes from an operator. */
export const usernameRefusal = (username: string): UsernameRefusal | undefined => {
  const length = lengthRefusal(username)
  if (length) return length
  if (username.includes('@')) return 'username_at_sign'
  // A combining mark at the start would be drawn on the character before the name.
  if (invisible.test(username) || /^\p{M}/u.test(username)) return 'username_characters'
  if (latin.test(username) && resemblesLatin.test(username)) return 'username_alphabets'
  return undefined
}

const mayBeChosen = (character: string) =>
  allowed.test(character) && !invisible.test(character) && (!/\p{L}/u.test(character) || isOrdinary(character))

/**
 * The fault of a normalized username that a user chooses. Applications put usernames into paths, queries and pages, so usernames have
 * no character with a meaning there. The registration page checks this, too, before it sends anything.
 */
export const chosenUsernameRefusal = (username: string): UsernameRefusal | undefined => {
  const length = lengthRefusal(username)
  if (length) return length
  if (username.includes('@')) return 'username_at_sign'
  if (!Array.from(username).every(mayBeChosen) || !lettersAndDigits.test(username) || decorated.test(username))
    return 'username_characters'
  if (separatorAtEdge.test(username)) return 'username_edges'
  return alphabets.some((alphabet) => alphabet.test(username)) ? undefined : 'username_alphabets'
}

/** The text without the characters that a chosen username cannot have. */
export const usableInUsername = (text: string, maxLength: number) =>
  Array.from(
    Array.from(text.toWellFormed().normalize('NFKC'))
      .filter(mayBeChosen)
      .join('')
      .replaceAll(new RegExp(decorated, 'gu'), '$1')
      .replace(/^[._\p{M}-]+/u, ''),
  )
    .slice(0, maxLength)
    .join('')
    .replace(/[._-]+$/, '')
