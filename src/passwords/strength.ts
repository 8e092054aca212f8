import type { FeedbackId } from '../contract/password-rules.js'
import type { Estimate } from './estimator.js'

export type PasswordStrength = { score: number; feedback: FeedbackId[]; isStrong: boolean }

/** What is known about the user who chooses the password. */
export type Person = { username?: string | undefined; email?: string | undefined; name?: string | null | undefined }

const minStrong = 3
const maxPersonalWords = 20

const warnings = {
  common: 'similar_to_common',
  words: 'common_words',
  personal: 'personal',
  pattern: 'patterns',
} as const satisfies Record<NonNullable<Estimate['weakness']>, FeedbackId>

/** Each text, and the words in it. */
const wholeAndParts = (texts: readonly string[]) => {
  const whole = texts.map((text) => text.normalize('NFKC').toLowerCase())
  const parts = whole.flatMap((text) => text.split(/[^\p{L}\p{M}\p{N}]+/u)).filter((part) => part.length >= 3)
  return [...new Set([...whole, ...parts])].filter((text) => text !== '')
}

/**
 * The words that an attacker who knows the user and the service would try first. Only the words of the user are limited, so a long name
 * leaves out no word of the service.
 */
export const personalInputs = ({ username, email, name }: Person, words: readonly string[]): string[] => {
  const personalWords = [username, email, email?.split('@')[0], name].filter((text) => typeof text === 'string')
  return [...new Set([...wholeAndParts(words), ...wholeAndParts(personalWords).slice(0, maxPersonalWords)])]
}

/** The strength as in docs/specification.md, 2.4. A weakness, such as a common word with replaced letters, keeps the score below strong. */
export const strengthOf = ({ score: estimatedScore, suggestions, warning, weakness }: Estimate): PasswordStrength => {
  const score = weakness === undefined ? estimatedScore : Math.min(estimatedScore, minStrong - 1)
  const isStrong = score >= minStrong
  const shownWarning = warning ?? (weakness && warnings[weakness])
  const advice: FeedbackId[] = suggestions.length === 0 && !isStrong ? ['add_words'] : suggestions
  return { score, feedback: shownWarning === undefined ? advice : [...advice, shownWarning], isStrong }
}

export const noStrength: PasswordStrength = { score: 0, feedback: [], isStrong: false }
