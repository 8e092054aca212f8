// Passwords to judge: what people make of the most used ones, and what generators make.
import { dictionary } from '@zxcvbn-ts/language-common'

const rules = [/^.{8,}$/su, /\p{Ll}/u, /\p{Lu}/u, /\p{Nd}/u, /[^\p{L}\p{M}\p{Nd}]/u]

/** @param {string} password */
export const keepsRules = (password) => rules.every((rule) => rule.test(password))

/** @param {string} text */
const capitalised = (text) => text.charAt(0).toUpperCase() + text.slice(1)
/** @param {string} text */
const reversed = (text) => [...text].reverse().join('')
/** @param {string} text @param {Record<string, string>} signs */
const withSigns = (text, signs) => [...text].map((letter) => signs[letter] ?? letter).join('')

/** @type {((word: string) => string)[]} */
const disguises = [
  (word) => word,
  capitalised,
  (word) => word.toUpperCase(),
  (word) => capitalised(withSigns(word, { a: '@', o: '0' })),
  (word) => capitalised(withSigns(word, { a: '4', e: '3', i: '1', o: '0', s: '5' })),
  (word) => capitalised(withSigns(word, { a: '@', e: '3', i: '!', o: '0', s: '$' })),
  (word) => capitalised(reversed(word)),
  (word) => reversed(capitalised(word)),
  (word) => capitalised(word) + word,
  (word) => capitalised(word) + capitalised(word),
]
const tails = [
  ...[
    '',
    '!',
    '1!',
    '!1',
    '12!',
    '123!',
    '123!@#',
    '#1',
    '_1',
    '.1',
    '69!',
    '99$',
    '007!',
    '!!',
    '!!1',
    '1234$',
    'A1!',
  ],
  ...['@123', '@1234', '@12345', '@1234567', '@123456789', '2024!', '2025!', '@2024', '#2023', '1987!', '1@2024!'],
]
const heads = ['!', '1!', '!1', '@123', '#1', '2024!', '123!', '1987_']

/**
 * Every usual mutation of the `count` most used passwords, or of each `step`th of them, that keeps the five rules of composition.
 * @param {number} count
 * @param {number} step
 */
export const mutations = (count, step = 1) => {
  const made = new Set(
    dictionary['passwords-common']
      .slice(0, count)
      .filter((_, at) => at % step === 0)
      .flatMap((word) =>
        disguises
          .map((disguise) => disguise(word))
          .flatMap((core) => [
            ...tails.map((tail) => core + tail),
            ...heads.flatMap((head) => [head + core, `${head + core}!`, `${head + core}1`]),
          ]),
      ),
  )
  return [...made].filter(keepsRules)
}

const shiftedKeys = Object.fromEntries(
  [..."1234567890-=[];',./"].map((key, at) => [key, '!@#$%^&*()_+{}:"<>?'.charAt(at)]),
)
/** @param {string} key */
const withShift = (key) => shiftedKeys[key] ?? key.toUpperCase()
const rows = ['1234567890-=', 'qwertyuiop[]', "asdfghjkl;'", 'zxcvbnm,./']
const columns = ['1qaz', '2wsx', '3edc', '4rfv', '5tgb', '6yhn', '7ujm', '8ik,', '9ol.', '0p;/']

/** Which of the keys of a walk are pressed with shift. @type {((at: number, length: number) => boolean)[]} */
const shifts = [
  (at) => at % 2 === 0,
  (at) => at % 2 === 1,
  (at) => at % 3 === 0,
  (at) => at % 4 === 0,
  (at) => at % 4 === 3,
  (at) => Math.floor(at / 2) % 2 === 1,
  (at) => Math.floor(at / 4) % 2 === 0,
  (at, length) => at < length / 2,
  (at, length) => at >= length / 2,
]

/** Walks over the keyboard that keep the five rules: pairs and rows of columns, zigzags, parts of rows, each with shift in nine ways. */
export const walks = () => {
  const pairs = columns.flatMap((one) =>
    columns
      .filter((other) => other !== one)
      .flatMap((other) => [one + other, one + reversed(other), reversed(one) + other]),
  )
  const ofThree = columns.slice(2).map((_, at) => columns.slice(at, at + 3).join(''))
  const ofTriples = columns.slice(2).map((_, at) =>
    columns
      .slice(at, at + 3)
      .map((column) => column.slice(0, 3))
      .join(''),
  )
  const zigzags = rows.slice(1).flatMap((below, at) =>
    [0, 1, 2, 3, 4, 5].flatMap((from) => {
      const zigzag = [...(rows[at] ?? '').slice(from, from + 5)]
        .map((key, place) => key + below.charAt(from + place))
        .join('')
      return [zigzag, reversed(zigzag)]
    }),
  )
  const alongRows = rows.flatMap((row) => [0, 1, 2].map((from) => row.slice(from, from + 9)))
  const made = [...pairs, ...ofThree, ...ofTriples, ...zigzags, ...alongRows].flatMap((walk) =>
    shifts.map((isShifted) => [...walk].map((key, at) => (isShifted(at, walk.length) ? withShift(key) : key)).join('')),
  )
  return [...new Set(made.flatMap((walk) => [walk, `${walk}!`]))].filter(keepsRules)
}

/** Base64 of the most used passwords, as it is and with an ending. @param {number} count */
export const encoded = (count) =>
  dictionary['passwords-common']
    .slice(0, count)
    .flatMap((word) => [word, capitalised(word), `${word}1`].map((text) => Buffer.from(text).toString('base64')))
    .flatMap((text) => [text, `${text}!`])
    .filter(keepsRules)

/** Words that stand in the public lists of leaked passwords, most of them in no dictionary. @param {string[]} entries */
export const decorated = (entries) => {
  const words = new Set(
    entries.flatMap((entry) => entry.toLowerCase().match(/^[^a-z]*([a-z]{5,16})[^a-z]*$/)?.[1] ?? []),
  )
  const endings = ['1!', '123!', '@123', '2024!', '#1', '@2023', '.99']
  return [...words].map((word, at) => capitalised(word) + endings[at % endings.length]).filter(keepsRules)
}

/** A small generator of numbers from 0 to 1 that gives the same row for the same seed. @param {number} seed */
const seeded = (seed) => {
  let state = seed
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32
    return state / 2 ** 32
  }
}

const classes = ['abcdefghijklmnopqrstuvwxyz', 'ABCDEFGHIJKLMNOPQRSTUVWXYZ', '0123456789', '!@#$%^&*-_=+?.']

/** Four random passwords and four passphrases of three words for each step. @param {number} seed @param {number} steps */
export const generated = (seed, steps) => {
  const next = seeded(seed)
  /** @template T @param {ArrayLike<T>} list */
  const one = (list) => /** @type {T} */ (list[Math.floor(next() * list.length)])
  const word = () => one(dictionary['diceware-common'])
  const digit = () => one('0123456789')

  /** @param {number} length */
  const random = (length) => {
    const rest = Array.from({ length: length - classes.length }, () => one(classes.join('')))
    const all = [...classes.map((kind) => one(kind)), ...rest]
    return all
      .map((character) => ({ character, place: next() }))
      .sort((a, b) => a.place - b.place)
      .map(({ character }) => character)
      .join('')
  }
  const phrases = [
    () => `${capitalised(word())}-${word()}${digit()}-${capitalised(word())}`,
    () => `${capitalised(word())}.${capitalised(word())}.${capitalised(word())}${digit()}`,
    () => `${digit()}${word()}_${word()}_${capitalised(word())}`,
    () => `${capitalised(word())} ${word()} ${word()} ${digit()}`,
  ]
  const makers = [...[12, 14, 16, 20].map((length) => () => random(length)), ...phrases]
  return Array.from({ length: steps }, () => makers.map((make) => make())).flat()
}

/** What slows an estimator down: many substitutions, many words, many ways to read each part. */
export const crafted = [
  '4@8({[</369&#!1/|0$5+7%2'.repeat(3),
  'p4$$w0rd'.repeat(9),
  '1!|l7+4@'.repeat(9),
  'qwertyuiop[]asdfghjkl'.repeat(4),
  'abcabcabcabd'.repeat(6),
  '01/02/2003.04-05-2006'.repeat(4),
  'passwordmonkeydragonletmein'.repeat(3),
  'a-b-c-d-'.repeat(9),
  '12. mai 1987 may 12, 87 '.repeat(3),
].map((password) => password.slice(0, 72))
