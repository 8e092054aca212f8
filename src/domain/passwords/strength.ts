import type { Estimate } from './estimator.js'

export type PasswordStrength = { score: number; feedback: string[]; isStrong: boolean }

/** What is known of whoever chooses the password. */
export type Person = { username?: string | undefined; email?: string | undefined; name?: string | null | undefined }

const leastStrong = 3
const mostInputs = 20

const warnings: Record<NonNullable<Estimate['weakness']>, string> = {
  common: 'This is similar to a commonly used password.',
  words: 'Common words with numbers and symbols added are easy to guess.',
  personal: 'Your name, your email address and the name of this service are easy to guess.',
  pattern: 'Rows of keys, repetitions and dates are easy to guess.',
}
const anotherWord = 'Add more words that are less common.'

/** The words that an acquaintance would try first, whole and in parts. */
export const personalInputs = (person: Person, productName: string): string[] => {
  const given = [productName, person.username, person.email, person.email?.split('@')[0], person.name]
  const whole = given.filter((text) => typeof text === 'string').map((text) => text.normalize('NFKC').toLowerCase())
  const parts = whole.flatMap((text) => text.split(/[^\p{L}\p{M}\p{N}]+/u)).filter((part) => part.length >= 3)
  return [...new Set([...whole, ...parts])].filter((text) => text !== '').slice(0, mostInputs)
}

/** docs/specification.md, 2.4. A weakness, such as a well-known word in disguise, keeps the score below strong. */
export const strengthOf = ({ score: estimated, suggestions, warning, weakness }: Estimate): PasswordStrength => {
  const score = weakness === undefined ? estimated : Math.min(estimated, leastStrong - 1)
  const isStrong = score >= leastStrong
  const said = warning ?? (weakness && warnings[weakness])
  const advice = suggestions.length === 0 && !isStrong ? [anotherWord] : suggestions
  return { score, feedback: said === undefined ? advice : [...advice, said], isStrong }
}

export const noStrength: PasswordStrength = { score: 0, feedback: [], isStrong: false }
