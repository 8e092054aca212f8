// Passwords to judge: what people make of the most used ones, and what generators make.
import { dictionary } from '@zxcvbn-ts/language-common'

const rules = [/^.{8,}$/su, /\p{Ll}/u, /\p{Lu}/u, /\p{Nd}/u, /[^\p{L}\p{M}\p{Nd}]/u]

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
 * Every usual mutation of the `count` most used passwords that keeps the five rules of composition.
 * @param {number} count
 */
export const mutations = (count) => {
  const made = new Set(
    dictionary['passwords-common']
      .slice(0, count)
      .flatMap((word) =>
        disguises
          .map((disguise) => disguise(word))
          .flatMap((core) => [
            ...tails.map((tail) => core + tail),
            ...heads.flatMap((head) => [head + core, `${head + core}!`, `${head + core}1`]),
          ]),
      ),
  )
  return [...made].filter((password) => rules.every((rule) => rule.test(password)))
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
