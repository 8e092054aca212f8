import { readFileSync } from 'node:fs'
import { type MatchExtended, ZxcvbnFactory } from '@zxcvbn-ts/core'
import { adjacencyGraphs, dictionary as passwords } from '@zxcvbn-ts/language-common'
import { translations, dictionary as words } from '@zxcvbn-ts/language-en'
import { languages } from '../contract/languages.js'
import { type FeedbackId, isFeedbackId } from '../contract/password-rules.js'
import { builtFile } from '../lib/home.js'
import { createHashedWords, type HashedWords } from './hashed-words.js'

/** Rows of keys, and the same keys with shift. */
type Layout = { rows: readonly string[]; shifted: readonly string[] }

const layouts: readonly Layout[] = [
  {
    rows: ['`1234567890-=', ' qwertyuiop[]\\', " asdfghjkl;'", ' zxcvbnm,./'],
    shifted: ['~!@#$%^&*()_+', ' QWERTYUIOP{}|', ' ASDFGHJKL:"', ' ZXCVBNM<>?'],
  },
  {
    rows: ['^1234567890ß´', ' qwertzuiopü+', ' asdfghjklöä#', '<yxcvbnm,.-'],
    shifted: ['°!"§$%&/()=?`', ' QWERTZUIOPÜ*', " ASDFGHJKLÖÄ'", '>YXCVBNM;:_'],
  },
  {
    rows: ['²&é"\'(-è_çà)=', ' azertyuiop^$', ' qsdfghjklmù*', '<wxcvbn,;:!'],
    shifted: [' 1234567890°+', ' AZERTYUIOP¨£', ' QSDFGHJKLM%µ', '>WXCVBN?./§'],
  },
]

type Key = { row: number; column: number; isShifted: boolean }

const keysOf = ({ rows, shifted }: Layout) => {
  const keys = new Map<string, Key>()
  const add = (list: readonly string[], isShifted: boolean) => {
    for (const [row, characters] of list.entries())
      for (const [column, character] of [...characters].entries())
        if (character !== ' ' && !keys.has(character.toLowerCase()))
          keys.set(character.toLowerCase(), { row, column, isShifted })
  }
  add(rows, false)
  add(shifted, true)
  return keys
}

const keyboards = layouts.map(keysOf)

/** Costs as powers of ten. A move that repeats one of the last four moves, as in `1q2w3e` or `1qaz2wsx`, is no new choice. */
const costs = { cornerStart: 1, start: 1.7, repeated: 0.1, neighbour: 0.7, jump: 1.7, shift: 0.4 }
const rememberedMoves = 4
const shortestWalk = 3
const corners = new Set(['1', 'q', 'a', 'z', '0', 'p', 'm', 'y', '7'])

type Move = { down: number; right: number }

const isNeighbour = ({ down, right }: Move) => Math.abs(down) <= 1 && Math.abs(right) <= 1

const costOfMove = (move: Move, earlierMoves: readonly Move[]) => {
  const isRepeated = earlierMoves
    .slice(-rememberedMoves)
    .some(({ down, right }) => down === move.down && right === move.right)
  if (isRepeated) return costs.repeated
  return isNeighbour(move) ? costs.neighbour : costs.jump
}

const walksOn = (keys: ReadonlyMap<string, Key>, text: string, start: number) => {
  const walks: { end: number; cost: number }[] = []
  const moves: Move[] = []
  let last = keys.get(text.charAt(start))
  if (!last) return walks
  let isShifted = last.isShifted
  let cost = corners.has(text.charAt(start)) ? costs.cornerStart : costs.start
  for (let at = start + 1; at < text.length; at += 1) {
    const key = keys.get(text.charAt(at))
    if (!key) break
    const move = { down: key.row - last.row, right: key.column - last.column }
    cost += costOfMove(move, moves)
    moves.push(move)
    isShifted ||= key.isShifted
    last = key
    if (moves.length + 1 >= shortestWalk) walks.push({ end: at + 1, cost: cost + (isShifted ? costs.shift : 0) })
  }
  return walks
}

/** The walks over the keyboard that begin at this index of a text in lower case, with or without shift: `1qaz@wsx`, `3e4r%t`. */
export const walksAt = (text: string, start: number) => keyboards.flatMap((keys) => walksOn(keys, text, start))

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

/**
 * The letter that each of these characters is typed for. `l`, `i` and `1` become the same letter, because `1` stands for both letters, and
 * so do `b`, `g` and `6`.
 */
const lookAlikes: Record<string, string> = {
  '@': 'a',
  '4': 'a',
  b: 'g',
  '8': 'g',
  '(': 'c',
  '3': 'e',
  '6': 'g',
  '9': 'g',
  '0': 'o',
  $: 's',
  '5': 's',
  '7': 't',
  '+': 't',
  '2': 'z',
  '1': 'i',
  '!': 'i',
  '|': 'i',
  l: 'i',
}

const disguisePattern = new RegExp(`[${Object.keys(lookAlikes).join('')}]`, 'g')

/** The text with plain letters for `ü`, `ñ` and `ç`: attackers try both spellings of a word. */
export const withoutMarks = (text: string) =>
  text
    .normalize('NFKD')
    .replace(/\p{Mn}/gu, '')
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll('ß', 'ss')
    .replaceAll('ł', 'l')

export const withoutDisguise = (text: string) => text.replace(disguisePattern, (sign) => lookAlikes[sign] ?? sign)

/** The text is reversed by code units, so that an index in it can be converted to one in the reversed text. */
const reversed = (text: string) => text.split('').reverse().join('')

/** How much each replaced letter adds for an attacker, as a power of ten. Replacing every letter is one rule, so the sum has a limit. */
const costOfASubstitution = 0.3
const maxForSubstitutions = 1
const costOfReversing = 0.5

export type Lists = {
  /** Lists with the most common words first. The index in the list is the number of guesses. */
  ranked: readonly (readonly string[])[]
  /** Lists without an order. Every entry takes as many guesses as the list has entries. */
  unordered?: readonly (readonly string[])[]
  /** A long list of which only hashes are known. */
  hashed?: HashedWords | undefined
}

/** Longer words are not looked up in the hashed list. */
const longestHashed = 40

const keepSmallerCost = (words: Map<string, number>, word: string, cost: number) => {
  if (cost < (words.get(word) ?? Number.POSITIVE_INFINITY)) words.set(word, cost)
}

/** The first test is much faster, and decides for nearly every word of the lists. */
const hasOnlyLetters = (text: string) => !/[^a-z]/.test(text) || /^\p{L}*$/u.test(text)

/**
 * How many guesses a word takes, as a power of ten. A word is also found with `@` for `a`, and backwards. All forms of a word are one
 * entry, so that a look-up takes the same time however many letters are replaced.
 */
export const createKnownWords = ({ ranked, unordered = [], hashed }: Lists) => {
  const words = new Map<string, number>()
  // Entries with digits or special characters, such as `abc123`, which is no word with replaced letters.
  const exactEntries = new Map<string, number>()
  let longest = hashed ? longestHashed : 0
  const add = (listed: string, cost: number) => {
    const word = withoutMarks(listed)
    if (word.length < 2) return
    longest = Math.max(longest, word.length)
    keepSmallerCost(words, withoutDisguise(word), cost)
    if (!hasOnlyLetters(word)) keepSmallerCost(exactEntries, word, cost)
  }
  for (const list of ranked) for (const [place, word] of list.entries()) add(word, Math.log10(place + 1))
  for (const list of unordered) for (const word of list) add(word, Math.log10(list.length))

  const notFound = Number.POSITIVE_INFINITY
  const costOfWord = (text: string) => Math.min(words.get(text) ?? notFound, hashed?.word(text) ?? notFound)
  const costOfExact = (text: string) => Math.min(exactEntries.get(text) ?? notFound, hashed?.entry(text) ?? notFound)

  /** Prepares a text once. The result is a function that rates a part of it. */
  const costsIn = (text: string) => {
    const undisguised = withoutDisguise(text)
    const reversedText = reversed(text)
    const undisguisedBackwards = reversed(undisguised)
    // How many special characters and digits are before each index.
    const nonLettersBefore = [0]
    for (const character of text.split(''))
      nonLettersBefore.push((nonLettersBefore.at(-1) ?? 0) + (hasOnlyLetters(character) ? 0 : 1))
    return (start: number, end: number) => {
      const reversedStart = text.length - end
      const reversedEnd = text.length - start
      const substitutions = (nonLettersBefore[end] ?? 0) - (nonLettersBefore[start] ?? 0)
      const word = Math.min(
        costOfWord(undisguised.slice(start, end)),
        costOfWord(undisguisedBackwards.slice(reversedStart, reversedEnd)) + costOfReversing,
      )
      if (substitutions === 0) return word
      return Math.min(
        word + Math.min(substitutions * costOfASubstitution, maxForSubstitutions),
        costOfExact(text.slice(start, end)),
        costOfExact(reversedText.slice(reversedStart, reversedEnd)) + costOfReversing,
      )
    }
  }

  return { longest, costsIn }
}

export type KnownWords = ReturnType<typeof createKnownWords>

type Kind = 'word' | 'personal' | 'pattern' | 'character'
type FoundPart = { end: number; cost: number }
type Part = { start: number; end: number; kind: Kind }

/** How many guesses a password takes (`cost` is their log10), and which parts it has. */
export type Reading = { cost: number; parts: Part[] }

const shiftedKeys = '!@#$%^&*()_+{}|:"<>?~'
const plainKeys = "1234567890-=[]\\;',./`"

/** The same keys without shift, on the most common keyboard: it finds the listed word `1qaz2wsx` in `1qaz@WSX`. */
const unshifted = (text: string) =>
  text
    .toLowerCase()
    .split('')
    .map((character) => plainKeys[shiftedKeys.indexOf(character)] ?? character)
    .join('')

/** A cost is the log10 of a number of guesses, so costs are added where guesses would be multiplied. */
const costOfAWord = 0.5
const costOfShifting = 0.4
const costOfARepetition = 0.3
const shortestSequence = 3
const shortestDistantRepetition = 3

const characterCosts: readonly (readonly [RegExp, cost: number])[] = [
  [/[!]/, 0.5],
  [/[@#$.*?&_ -]/, 0.8],
  [/[0-9]/, 1],
  [/[\u0021-\u007e]/, 1.4],
]
const costOfACharacter = (character: string) =>
  characterCosts.find(([characters]) => characters.test(character))?.[1] ?? 2

/** The sequences, such as `123` or `cba`, that begin at this index. */
const sequencesAt = (text: string, start: number) => {
  const step = text.charCodeAt(start + 1) - text.charCodeAt(start)
  if (Math.abs(step) !== 1) return []
  let end = start + 2
  while (end < text.length && text.charCodeAt(end) - text.charCodeAt(end - 1) === step) end += 1
  // Most sequences begin at an end of the alphabet or of the digits.
  const startCost = /[01a9z]/.test(text.charAt(start)) ? 0.3 : 1
  return Array.from({ length: Math.max(0, end - start - shortestSequence + 1) }, (_, n) => ({
    end: start + shortestSequence + n,
    cost: startCost + Math.log10(shortestSequence + n),
  }))
}

/** The repetitions at this index: of the text directly before it, or of any earlier text if they are long enough. */
const repetitionsAt = (text: string, start: number) => {
  const before = text.slice(0, start)
  const foundParts: FoundPart[] = []
  for (let end = start + 1; end <= text.length; end += 1) {
    const part = text.slice(start, end)
    if (before.endsWith(part)) foundParts.push({ end, cost: costOfARepetition })
    else if (part.length >= shortestDistantRepetition && !before.includes(part)) break
    else if (part.length >= shortestDistantRepetition) foundParts.push({ end, cost: 2 * costOfARepetition })
  }
  return foundParts
}

const wordFinder = (words: KnownWords, text: string) => {
  const keys = unshifted(text)
  const asTyped = words.costsIn(text)
  const byKeys = keys === text ? undefined : words.costsIn(keys)
  return (start: number) => {
    const foundParts: FoundPart[] = []
    for (let end = start + 2; end <= Math.min(text.length, start + words.longest); end += 1) {
      const shiftedCost = byKeys === undefined ? Number.POSITIVE_INFINITY : byKeys(start, end) + costOfShifting
      const cost = Math.min(asTyped(start, end), shiftedCost)
      if (cost < Number.POSITIVE_INFINITY) foundParts.push({ end, cost: cost + costOfAWord })
    }
    return foundParts
  }
}

/** The cheapest way to build a text from known parts. `best` has for each index the best part that ends there. */
const cheapestReading = (text: string, known: KnownWords, personal: KnownWords): Reading => {
  const finders: [Kind, (start: number) => FoundPart[]][] = [
    ['character', (start) => [{ end: start + 1, cost: costOfACharacter(text.charAt(start)) }]],
    ['personal', wordFinder(personal, text)],
    ['word', wordFinder(known, text)],
    ['pattern', (start) => datesAt(text, start)],
    ['pattern', (start) => sequencesAt(text, start)],
    ['pattern', (start) => walksAt(text, start)],
    ['pattern', (start) => repetitionsAt(text, start)],
  ]
  const best: { cost: number; part: Part | undefined }[] = [{ cost: 0, part: undefined }]
  for (let start = 0; start < text.length; start += 1) {
    for (const [kind, find] of finders) {
      for (const { end, cost } of find(start)) {
        const total = (best[start]?.cost ?? 0) + cost
        if (total < (best[end]?.cost ?? Number.POSITIVE_INFINITY))
          best[end] = { cost: total, part: { start, end, kind } }
      }
    }
  }
  const parts: Part[] = []
  for (let part = best.at(-1)?.part; part !== undefined; part = best[part.start]?.part) parts.unshift(part)
  return { cost: best.at(-1)?.cost ?? 0, parts }
}

/** One special character between all letters, as in `P-a-s-s-w-o-r-d`. */
const spreadOut = /([\p{L}\p{N}])([^\p{L}\p{N}])(?:[\p{L}\p{N}]\2){2,}[\p{L}\p{N}]/gu
const costOfSpreading = 1

/** Base64 of a text, with an ending that makes the password meet the rules. */
const base64Shape = /^([A-Za-z0-9+/]{6,}={0,2})[^A-Za-z0-9]{0,2}$/
const costOfEncoding = 1

/** The plain text of a password that is base64, as `cGFzc3dvcmQ=` is `password`. */
const decodeBase64 = (password: string) => {
  const [, text] = base64Shape.exec(password) ?? []
  const plain = text === undefined ? '' : Buffer.from(text, 'base64').toString('latin1').replace(/\n$/, '')
  return /^[\x20-\x7e]{4,}$/.test(plain) ? plain : undefined
}

/** How an attacker who knows these words would guess a password, with the usual replacements and additions. */
export const readPassword = (password: string, known: KnownWords, personal: KnownWords): Reading => {
  const reading = readPlain(password, known, personal)
  const plain = decodeBase64(password)
  if (plain === undefined) return reading
  const { cost, parts } = readPlain(plain, known, personal)
  return cost + costOfEncoding < reading.cost ? { cost: cost + costOfEncoding, parts } : reading
}

const readPlain = (password: string, known: KnownWords, personal: KnownWords): Reading => {
  const text = withoutMarks(password)
  const reading = cheapestReading(text, known, personal)
  const joined = text.replace(spreadOut, (spread, _first: string, sign: string) => spread.replaceAll(sign, ''))
  if (joined === text) return reading
  const { cost, parts } = cheapestReading(joined, known, personal)
  return cost + costOfSpreading < reading.cost ? { cost: cost + costOfSpreading, parts } : reading
}

export type Estimate = {
  score: 0 | 1 | 2 | 3 | 4
  suggestions: FeedbackId[]
  warning: FeedbackId | undefined
  /** A weakness that the score alone may miss: common or personal words, keyboard patterns, dates and sequences with small changes. */
  weakness: 'common' | 'words' | 'personal' | 'pattern' | undefined
}

/** The time of an estimate grows quickly with the length. A strong password is recognised with far fewer characters. */
const longestEstimated = 64

/** The library gets our ids in place of its sentences. `pwned` is never used, because the library gets no list of breaches. */
const phrases = {
  ...translations,
  warnings: {
    straightRow: 'straight_rows',
    keyPattern: 'key_patterns',
    simpleRepeat: 'repeated_characters',
    extendedRepeat: 'repeated_patterns',
    sequences: 'sequences',
    recentYears: 'recent_years',
    dates: 'dates',
    topTen: 'heavily_used',
    topHundred: 'frequently_used',
    common: 'commonly_used',
    similarToCommon: 'similar_to_common',
    wordByItself: 'single_word',
    namesByThemselves: 'single_name',
    commonNames: 'common_names',
    userInputs: 'personal',
    pwned: 'heavily_used',
  },
  suggestions: {
    l33t: 'avoid_substitutions',
    reverseWords: 'avoid_reversed_words',
    allUppercase: 'capitalize_some',
    capitalization: 'capitalize_more',
    dates: 'avoid_dates',
    recentYears: 'avoid_recent_years',
    associatedYears: 'avoid_own_years',
    sequences: 'avoid_sequences',
    repeated: 'avoid_repetition',
    longerKeyboardPattern: 'longer_key_patterns',
    anotherWord: 'add_words',
    useWords: 'use_words',
    // The sentence of the library says that capitals and digits are not needed. Our rules need them.
    noNeed: 'unrelated_words',
    pwned: 'use_words',
  },
} as const satisfies { warnings: Record<string, FeedbackId>; suggestions: Record<string, FeedbackId> }

const patternKinds = new Set(['spatial', 'date', 'sequence', 'repeat', 'regex'])
const strongPartGuesses = 1e8

const maxOtherLength = 4
const strongTotalLog10 = 10

/**
 * Whether the password is made of keyboard patterns, dates and repetitions with little else. A repetition of something strong does not
 * count.
 */
const isMadeOfPatterns = (parts: MatchExtended[]) => {
  const otherParts = parts.filter(
    (part) => !patternKinds.has(part.pattern) || Number(part.guesses) >= strongPartGuesses,
  )
  const otherLength = otherParts.reduce((length, part) => length + part.token.length, 0)
  const totalLog10 = parts.reduce((sum, part) => sum + Math.log10(Number(part.guesses)), 0)
  return otherLength <= maxOtherLength && totalLog10 < strongTotalLog10
}

/**
 * The most words that are used of each long list. Two rarer words are strong enough together, and the library knows single ones. Every
 * entry takes time when the lists are loaded.
 */
const maxWords = 25_000

/** The fewest guesses of a strong password, as a power of ten. The library requires 8, but adds much for each further part. */
const minGuesses = 8.5

const weaknessIn = ({ cost, parts }: Reading): Estimate['weakness'] => {
  if (cost >= minGuesses) return undefined
  const kinds = parts.map(({ kind }) => kind)
  if (kinds.includes('personal')) return 'personal'
  const lengthOf = (partKind: string) =>
    parts.filter(({ kind }) => kind === partKind).reduce((length, { start, end }) => length + end - start, 0)
  if (lengthOf('pattern') > lengthOf('word')) return 'pattern'
  return kinds.filter((kind) => kind === 'word').length > 1 ? 'words' : 'common'
}

/** The cut can leave half of a surrogate pair, which is removed. */
const cutToLength = (text: string) => text.slice(0, longestEstimated).replace(/\p{Surrogate}/gu, '')

/** Estimates passwords. Creating an estimator loads its dictionaries, about 95 MB. */
export const createEstimator = () => {
  const library = new ZxcvbnFactory({
    translations: phrases,
    graphs: adjacencyGraphs,
    dictionary: { ...passwords, ...words },
    // With the library's default of 100 a crafted password takes seconds.
    l33tMaxSubstitutions: 1,
    maxLength: longestEstimated,
  })
  const commonWords = createKnownWords({
    ranked: [
      passwords['passwords-common'],
      ...[words['commonWords-en'], words['wikipedia-en'], words['lastnames-en']].map((list) => list.slice(0, maxWords)),
    ],
    unordered: [words['firstnames-en'], passwords['diceware-common']],
    hashed: createHashedWords(readFileSync(builtFile('common-passwords'))),
  })

  return (fullPassword: string, fullInputs: string[]): Estimate => {
    const password = cutToLength(fullPassword)
    const inputs = fullInputs.map(cutToLength)
    const { score, feedback, sequence } = library.check(password, inputs)
    const personalWords = createKnownWords({
      ranked: inputs.filter((input) => input.length >= 3).map((input) => [input]),
    })
    const weakness = weaknessIn(readPassword(password, commonWords, personalWords))
    const isOnlyPatterns = weakness === undefined && score >= 3 && isMadeOfPatterns(sequence)
    return {
      score,
      suggestions: feedback.suggestions.filter(isFeedbackId),
      warning: feedback.warning !== null && isFeedbackId(feedback.warning) ? feedback.warning : undefined,
      weakness: isOnlyPatterns ? 'pattern' : weakness,
    }
  }
}
