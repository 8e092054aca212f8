import { type MatchExtended, ZxcvbnFactory } from '@zxcvbn-ts/core'
import { adjacencyGraphs, dictionary as passwords } from '@zxcvbn-ts/language-common'
import { translations, dictionary as words } from '@zxcvbn-ts/language-en'
import { type Reading, readPassword, unshifted } from './guesses.js'
import { createKnownWords } from './known-words.js'

export type Estimate = {
  score: 0 | 1 | 2 | 3 | 4
  suggestions: string[]
  warning: string | undefined
  /** What the score alone may miss: well-known or personal words, a walk over the keys, a date, a row, hardly dressed up. */
  weakness: 'common' | 'words' | 'personal' | 'pattern' | undefined
}

/** The estimator's time grows steeply with length; what is strong is strong well before this. */
const longest = 64

const phrases = {
  ...translations,
  warnings: {
    ...translations.warnings,
    userInputs: 'Your name, your email address and the name of this service are easy to guess.',
  },
  suggestions: {
    ...translations.suggestions,
    // The library's own sentence says that capitals and digits are not needed. Here they are.
    noNeed: 'Three or four unrelated words in a row are a good start.',
  },
}

const patterns = new Set(['spatial', 'date', 'sequence', 'repeat', 'regex'])
const guessesOfAStrongPart = 1e8

const mostBesidePatterns = 4
const guessesOfAStrongRow = 10

/** Rows of keys, dates and repetitions with little beside them. A repetition of something strong is no easy pattern. */
const isMadeOfPatterns = (parts: MatchExtended[]) => {
  const beside = parts.filter((part) => !patterns.has(part.pattern) || Number(part.guesses) >= guessesOfAStrongPart)
  const lengthBeside = beside.reduce((length, part) => length + part.token.length, 0)
  const guesses = parts.reduce((sum, part) => sum + Math.log10(Number(part.guesses)), 0)
  return lengthBeside <= mostBesidePatterns && guesses < guessesOfAStrongRow
}

/** Two rarer words are strong enough by themselves, and one is known to the library. Every entry costs time at the start. */
const mostWords = 25_000

/** As a power of ten. The library wants 8 for a strong password, but adds much for each further part. */
const leastGuesses = 8.5

const weaknessIn = ({ cost, parts }: Reading): Estimate['weakness'] => {
  if (cost >= leastGuesses) return undefined
  const kinds = parts.map(({ kind }) => kind)
  if (kinds.includes('personal')) return 'personal'
  const lengthOf = (wanted: string) =>
    parts.filter(({ kind }) => kind === wanted).reduce((length, { start, end }) => length + end - start, 0)
  if (lengthOf('pattern') > lengthOf('word')) return 'pattern'
  return kinds.filter((kind) => kind === 'word').length > 1 ? 'words' : 'common'
}

const withoutHalves = (text: string) => text.slice(0, longest).replace(/\p{Surrogate}/gu, '')

/** Reads its dictionaries, about 95 MB, when it is made. */
export const createEstimator = () => {
  const library = new ZxcvbnFactory({
    translations: phrases,
    graphs: adjacencyGraphs,
    dictionary: { ...passwords, ...words },
    // With the library's default of 100 a crafted password takes seconds.
    l33tMaxSubstitutions: 1,
    maxLength: longest,
  })
  const known = createKnownWords({
    ranked: [
      passwords['passwords-common'],
      ...[words['commonWords-en'], words['wikipedia-en'], words['lastnames-en']].map((list) =>
        list.slice(0, mostWords),
      ),
    ],
    unordered: [words['firstnames-en'], passwords['diceware-common']],
  })

  const isPattern = (password: string, parts: MatchExtended[], inputs: string[]) => {
    if (isMadeOfPatterns(parts)) return true
    // The second look costs as much as the first. Nobody walks over the keys for longer than this.
    if (password.length > 32) return false
    const plain = unshifted(password)
    return plain !== password && isMadeOfPatterns(library.check(plain, inputs).sequence)
  }

  return (given: string, givenInputs: string[]): Estimate => {
    const password = withoutHalves(given)
    const inputs = givenInputs.map(withoutHalves)
    const { score, feedback, sequence } = library.check(password, inputs)
    const personal = createKnownWords({ ranked: inputs.filter((input) => input.length >= 3).map((input) => [input]) })
    const weakness = weaknessIn(readPassword(password, known, personal))
    const isRowOrDate = weakness === undefined && score >= 3 && isPattern(password, sequence, inputs)
    return {
      score,
      suggestions: feedback.suggestions,
      warning: feedback.warning ?? undefined,
      weakness: isRowOrDate ? 'pattern' : weakness,
    }
  }
}
