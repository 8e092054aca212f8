import { isRefused, type Refused, refuse } from '../../contract/outcome.js'

/** Letters of other alphabets that look like a Latin one. Folding them makes a look-alike name equal. */
// biome-ignore format: a table reads best as a table
const lookAlikes = new Map(
  Object.entries({
    a: 'аαɑ', b: 'ьв', c: 'сϲ', d: 'ԁ', e: 'еєε', g: 'ɡԍ', h: 'һнη', i: 'іιıӏ', j: 'јϳ', k: 'кκ', l: 'ⅼǀ', m: 'м', n: 'п',
    o: 'оοσօ', p: 'рρ', q: 'ԛ', r: 'гᴦ', s: 'ѕ', t: 'тτ', u: 'υս', v: 'ѵν', w: 'ԝω', x: 'хχ', y: 'уγү', z: 'ᴢ',
  }).flatMap(([latin, others]) => Array.from(others, (other) => [other, latin] as const)),
)

const invisible = /[\p{C}\p{Z}\p{Default_Ignorable_Code_Point}\u2800]/u
const latin = /\p{Script=Latin}/u
const resemblesLatin = /[\p{Script=Cyrillic}\p{Script=Greek}\p{Script=Armenian}\p{Script=Cherokee}\p{Script=Coptic}]/u
const maximumLength = 64

export type Username = { username: string; key: string }

export type UsernameRefusal = 'username_length' | 'username_at_sign' | 'username_characters' | 'username_alphabets'

/** Case folding by way of upper case: it also joins the long s, the dotless i, the Kelvin sign and the sharp s. */
const fold = (text: string) => text.toUpperCase().toLowerCase().normalize('NFKC').replaceAll('i\u0307', 'i')

/**
 * Two names with one key are one name: `Ada`, `ADA`, fullwidth `Ａｄａ`, and `аdа` with Cyrillic letters. Spaces around a
 * name come from pasting and are removed.
 */
export const usernameKey = (text: string) =>
  Array.from(fold(text.normalize('NFKC').trim()), (letter) => lookAlikes.get(letter) ?? letter).join('')

const refusalOf = (username: string): UsernameRefusal | undefined => {
  const length = Array.from(username).length
  if (length < 1 || length > maximumLength) return 'username_length'
  if (username.includes('@')) return 'username_at_sign'
  // A combining mark at the start would be drawn on the character before the name.
  if (!username.isWellFormed() || invisible.test(username) || /^\p{M}/u.test(username)) return 'username_characters'
  if (latin.test(username) && resemblesLatin.test(username)) return 'username_alphabets'
  return undefined
}

export const readUsername = (text: string): Username | Refused<UsernameRefusal> => {
  const username = text.normalize('NFKC').trim()
  const code = refusalOf(username)
  return code ? refuse(code) : { username, key: usernameKey(username) }
}

/** Makes a valid username from the name at a provider, with room for a suffix. */
export const usernameFrom = (text: string): Username => {
  const kept = Array.from(text.toWellFormed().normalize('NFKC')).filter(
    (letter) => letter !== '@' && !invisible.test(letter),
  )
  const read = readUsername(kept.slice(0, maximumLength - 8).join(''))
  return isRefused(read) ? { username: 'user', key: 'user' } : read
}

export const withSuffix = ({ username, key }: Username, suffix: number | string): Username =>
  suffix === 1 ? { username, key } : { username: `${username}-${suffix}`, key: `${key}-${suffix}` }
