import { longestName } from '../contract/name-lengths.js'
import { isRefused, type Refused, refuse } from '../contract/outcome.js'
import {
  chosenUsernameRefusal,
  longestUsername,
  normalizedUsername,
  type UsernameRefusal,
  usableInUsername,
  usernameRefusal,
} from '../contract/usernames.js'

/**
 * Letters that look like a Latin one. They are replaced in keys, so that names that look alike have the same key. A capital i, a small L
 * and the digit one look the same in many typefaces. All three become the digit, because `withSuffix` adds numbers to keys.
 */
// biome-ignore format: a table reads best as a table
const lookAlikes = new Map(
  Object.entries({
    a: 'аαɑᴀ', b: 'ьвƅʙ', c: 'сϲᴄ', d: 'ԁᴅ', e: 'еєεɛᴇ', f: 'ꜰ', g: 'ɡԍɢ', h: 'һнηʜ', j: 'јϳȷᴊ', k: 'кκᴋ', m: 'мᴍ', n: 'пɴ',
    o: 'оοσօᴏ', p: 'рρƿᴘ', q: 'ԛ', r: 'гᴦʀ', s: 'ѕꜱ', t: 'тτᴛ', u: 'υսᴜ', v: 'ѵνʋᴠ', w: 'ԝωᴡ', x: 'хχ', y: 'уγүɣʏ', z: 'ᴢ',
    '1': 'ilіιıɩӏɪʟǀ|', '-': '‐‑‒–—−⁃˗',
  }).flatMap(([sign, others]) => Array.from(others, (other) => [other, sign] as const)),
)
const withoutLookAlikes = (text: string) => Array.from(text, (letter) => lookAlikes.get(letter) ?? letter).join('')

/** Alphabets in which a whole name can imitate a Latin one: Lisu and Cherokee. */
const imitations = new Map(
  ['ꓮꓐꓚꓓꓰꓝꓖꓧꓲꓙꓗꓡꓟꓠꓳꓑ-ꓣꓢꓔꓴꓦꓪꓫꓬꓜ', 'ᎪᏴᏟᎠᎬ-ᏀᎻᎥᎫᏦᏞᎷ--Ꮲ-ᎡᏚᎢ-ᏙᎳ-ᎩᏃ'].flatMap((alphabet) =>
    Array.from(alphabet.toLowerCase(), (letter, at) => [letter, 'abcdefghijklmnopqrstuvwxyz'[at] ?? ''] as const),
  ),
)

export type Username = { username: string; key: string }

/** Folds case by way of upper case, so that the long s, the dotless i, the Kelvin sign and the sharp s become plain letters too. */
const fold = (text: string) => text.toUpperCase().toLowerCase().normalize('NFKC').replaceAll('i\u0307', 'i')

/**
 * Two names with the same key are the same name: `Ada`, `ADA`, fullwidth `Ａｄａ`, and `аdа` with Cyrillic letters. A key is not for display.
 */
export const usernameKey = (text: string) => withoutLookAlikes(fold(normalizedUsername(text)))

/**
 * The Latin key that this one imitates. It is only compared with reserved names: users of these alphabets keep their names, and stored keys
 * do not change.
 */
export const imitatedKey = (key: string) =>
  withoutLookAlikes(
    Array.from(key, (letter) => (letter === '-' ? letter : (imitations.get(letter) ?? letter))).join(''),
  )

type Rule = (username: string) => UsernameRefusal | undefined

const readBy = (rule: Rule, text: string): Username | Refused<UsernameRefusal> => {
  const username = normalizedUsername(text)
  const code = rule(username)
  return code ? refuse(code) : { username, key: usernameKey(username) }
}

/** Reads a name that exists already, is imported, or comes from an operator. */
export const readUsername = (text: string) => readBy(usernameRefusal, text)

/** Reads a name that a user chooses, with stricter rules. */
export const readChosenUsername = (text: string) => readBy(chosenUsernameRefusal, text)

/** Makes a username from a name at a provider or the first part of an email. It obeys the rules of chosen names. A suffix still fits. */
export const usernameFrom = (text: string): Username => {
  const chosen = readChosenUsername(usableInUsername(text, longestUsername - 8))
  return isRefused(chosen) ? { username: 'user', key: 'user' } : chosen
}

/** Makes a username from the part of an address before the at-sign. */
export const usernameFromEmail = ({ email }: Email) => usernameFrom(email.slice(0, email.lastIndexOf('@')))

export const withSuffix = ({ username, key }: Username, suffix: number | string): Username =>
  suffix === 1 ? { username, key } : { username: `${username}-${suffix}`, key: `${key}-${suffix}` }

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

/**
 * Addresses are ASCII: Unicode case rules would make two addresses equal (`ı` and `I`, the Kelvin sign and `k`),
 * and a domain with other letters has an ASCII form.
 */
const shape =
  /^[a-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}@(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i
const maximumLength = 254

export type EmailRefusal = 'email_shape'

export type Email = { email: string; key: string }

export const emailKey = (text: string) => text.trim().toLowerCase()

/** Reads an address. Spaces around it come from pasting and are removed. */
export const readEmail = (typedEmail: string): Email | Refused<EmailRefusal> => {
  const text = typedEmail.trim()
  const [local = ''] = text.split('@')
  const hasMisplacedDot = local.startsWith('.') || local.endsWith('.') || local.includes('..')
  if (text.length > maximumLength || hasMisplacedDot || !shape.test(text)) return refuse('email_shape')
  return { email: text, key: emailKey(text) }
}
