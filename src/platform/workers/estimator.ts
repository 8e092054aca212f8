import { type MatchExtended, ZxcvbnFactory } from '@zxcvbn-ts/core'
import { adjacencyGraphs, dictionary as passwords } from '@zxcvbn-ts/language-common'
import { translations, dictionary as words } from '@zxcvbn-ts/language-en'
import { createCommonFinder, isMadeOf, unshifted } from './password-core.js'

export type Estimate = {
  score: 0 | 1 | 2 | 3 | 4
  suggestions: string[]
  warning: string | undefined
  /** What the score alone may miss: a well-known or personal word, or a walk over the keys, a date, a row, hardly dressed up. */
  weakness: 'common' | 'personal' | 'pattern' | undefined
}

/** The estimator's time grows steeply with length; what is strong is strong well before this. */
const longest = 72

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

/** How many characters are no part of an easy pattern. A repetition of something strong is no easy pattern. */
const lengthBesidePatterns = (parts: MatchExtended[]) =>
  parts
    .filter((part) => !patterns.has(part.pattern) || Number(part.guesses) >= guessesOfAStrongPart)
    .reduce((length, part) => length + part.token.length, 0)

const withoutHalves = (text: string) => text.slice(0, longest).replace(/\p{Surrogate}/gu, '')

/** Reads its dictionaries, about 70 MB, when it is made. */
export const createEstimator = () => {
  const library = new ZxcvbnFactory({
    translations: phrases,
    graphs: adjacencyGraphs,
    dictionary: { ...passwords, ...words },
    // With the library's default of 100 a crafted password takes seconds.
    l33tMaxSubstitutions: 1,
    maxLength: longest,
  })
  const isCommon = createCommonFinder(passwords['passwords-common'])

  const isPattern = (password: string, parts: MatchExtended[], inputs: string[]) => {
    if (lengthBesidePatterns(parts) <= 4) return true
    // The second look costs as much as the first. Nobody walks over the keys for longer than this.
    if (password.length > 32) return false
    const plain = unshifted(password)
    return plain !== password && lengthBesidePatterns(library.check(plain, inputs).sequence) <= 4
  }

  return (given: string, givenInputs: string[]): Estimate => {
    const password = withoutHalves(given)
    const inputs = givenInputs.map(withoutHalves)
    const { score, feedback, sequence } = library.check(password, inputs)
    const weaknessOf = () => {
      if (isMadeOf(inputs, password)) return 'personal'
      if (isCommon(password)) return 'common'
      return score >= 3 && isPattern(password, sequence, inputs) ? 'pattern' : undefined
    }
    return { score, suggestions: feedback.suggestions, warning: feedback.warning ?? undefined, weakness: weaknessOf() }
  }
}
