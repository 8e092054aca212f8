import { isRefused, type Refused, refuse } from '../../contract/outcome.js'
import {
  chosenUsernameRefusal,
  longestUsername,
  normalizedUsername,
  type UsernameRefusal,
  usableInUsername,
  usernameRefusal,
} from '../../contract/username-rules.js'

/** Letters of other alphabets that look like a Latin one. Folding them makes a look-alike name equal. */
// biome-ignore format: a table reads best as a table
const lookAlikes = new Map(
  Object.entries({
    a: 'аαɑ', b: 'ьв', c: 'сϲ', d: 'ԁ', e: 'еєε', g: 'ɡԍ', h: 'һнη', i: 'іιıӏ', j: 'јϳ', k: 'кκ', l: 'ⅼǀ', m: 'м', n: 'п',
    o: 'оοσօ', p: 'рρ', q: 'ԛ', r: 'гᴦ', s: 'ѕ', t: 'тτ', u: 'υս', v: 'ѵν', w: 'ԝω', x: 'хχ', y: 'уγү', z: 'ᴢ',
    '-': '‐‑‒–—−⁃˗',
  }).flatMap(([latin, others]) => Array.from(others, (other) => [other, latin] as const)),
)

/** Alphabets in which a whole name can imitate a Latin one: Lisu, Cherokee, and small capitals. */
const imitations = new Map(
  ['ꓮꓐꓚꓓꓰꓝꓖꓧꓲꓙꓗꓡꓟꓠꓳꓑ-ꓣꓢꓔꓴꓦꓪꓫꓬꓜ', 'ᎪᏴᏟᎠᎬ-ᏀᎻᎥᎫᏦᏞᎷ--Ꮲ-ᎡᏚᎢ-ᏙᎳ-ᎩᏃ', 'ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘ-ʀꜱᴛᴜᴠᴡ-ʏᴢ'].flatMap((alphabet) =>
    Array.from(alphabet.toLowerCase(), (letter, at) => [letter, 'abcdefghijklmnopqrstuvwxyz'[at] ?? ''] as const),
  ),
)

export type Username = { username: string; key: string }

/** Case folding by way of upper case: it also joins the long s, the dotless i, the Kelvin sign and the sharp s. */
const fold = (text: string) => text.toUpperCase().toLowerCase().normalize('NFKC').replaceAll('i\u0307', 'i')

/**
 * Two names with one key are one name: `Ada`, `ADA`, fullwidth `Ａｄａ`, and `аdа` with Cyrillic letters.
 */
export const usernameKey = (text: string) =>
  Array.from(fold(normalizedUsername(text)), (letter) => lookAlikes.get(letter) ?? letter).join('')

/**
 * The Latin key that this one imitates. Only to compare with reserved names: users of these alphabets keep their names, and
 * keys are stored.
 */
export const imitatedKey = (key: string) =>
  Array.from(key, (letter) => (letter === '-' ? letter : (imitations.get(letter) ?? letter))).join('')

type Rule = (username: string) => UsernameRefusal | undefined

const readBy = (rule: Rule, text: string): Username | Refused<UsernameRefusal> => {
  const username = normalizedUsername(text)
  const code = rule(username)
  return code ? refuse(code) : { username, key: usernameKey(username) }
}

/** A name that exists already, is imported, or comes from an operator. */
export const readUsername = (text: string) => readBy(usernameRefusal, text)

/** A name that a user chooses. */
export const chooseUsername = (text: string) => readBy(chosenUsernameRefusal, text)

/** Makes a username that could be chosen from the name at a provider or the first part of an email, with room for a suffix. */
export const usernameFrom = (text: string): Username => {
  const chosen = chooseUsername(usableInUsername(text, longestUsername - 8))
  return isRefused(chosen) ? { username: 'user', key: 'user' } : chosen
}

export const withSuffix = ({ username, key }: Username, suffix: number | string): Username =>
  suffix === 1 ? { username, key } : { username: `${username}-${suffix}`, key: `${key}-${suffix}` }
