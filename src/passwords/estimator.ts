import { readFileSync } from 'node:fs'
import { type MatchExtended, ZxcvbnFactory } from '@zxcvbn-ts/core'
import { adjacencyGraphs, dictionary as passwords } from '@zxcvbn-ts/language-common'
import { translations, dictionary as words } from '@zxcvbn-ts/language-en'
import { type FeedbackId, isFeedbackId } from '../contract/password-rules.js'
import { builtFile } from '../lib/home.js'
import { type Reading, readPassword } from './guesses.js'
import { createHashedWords } from './hashed-words.js'
import { createKnownWords } from './known-words.js'

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
