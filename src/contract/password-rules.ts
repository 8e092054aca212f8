import { refuse } from './outcome.js'

/** The sentences of the strength estimate about a password: first what makes it weak, then advice. */
export const feedbackSentences = {
  straight_rows: 'Straight rows of keys on your keyboard are easy to guess.',
  key_patterns: 'Short keyboard patterns are easy to guess.',
  repeated_characters: 'Repeated characters like "aaa" are easy to guess.',
  repeated_patterns: 'Repeated character patterns like "abcabcabc" are easy to guess.',
  sequences: 'Common character sequences like "abc" are easy to guess.',
  recent_years: 'Recent years are easy to guess.',
  dates: 'Dates are easy to guess.',
  heavily_used: 'This is a heavily used password.',
  frequently_used: 'This is a frequently used password.',
  commonly_used: 'This is a commonly used password.',
  similar_to_common: 'This is similar to a commonly used password.',
  single_word: 'Single words are easy to guess.',
  single_name: 'Single names or surnames are easy to guess.',
  common_names: 'Common names and surnames are easy to guess.',
  common_words: 'Common words with numbers and symbols added are easy to guess.',
  personal: 'Your name, your email address and words that belong to this service are easy to guess.',
  patterns: 'Rows of keys, repetitions and dates are easy to guess.',

  avoid_substitutions: "Avoid predictable letter substitutions like '@' for 'a'.",
  avoid_reversed_words: 'Avoid reversed spellings of common words.',
  capitalize_some: 'Capitalize some, but not all letters.',
  capitalize_more: 'Capitalize more than the first letter.',
  avoid_dates: 'Avoid dates and years that are associated with you.',
  avoid_recent_years: 'Avoid recent years.',
  avoid_own_years: 'Avoid years that are associated with you.',
  avoid_sequences: 'Avoid common character sequences.',
  avoid_repetition: 'Avoid repeated words and characters.',
  longer_key_patterns: 'Use longer keyboard patterns and change typing direction multiple times.',
  add_words: 'Add more words that are less common.',
  use_words: 'Use multiple words, but avoid common phrases.',
  unrelated_words: 'Three or four unrelated words in a row are a good start.',
} as const satisfies Record<string, string>

export type FeedbackId = keyof typeof feedbackSentences

export const feedbackIds = /* @__PURE__ */ Object.keys(feedbackSentences) as FeedbackId[]

export const isFeedbackId = (text: string): text is FeedbackId => Object.hasOwn(feedbackSentences, text)

/**
 * The rules that a page can check without the service (docs/specification.md, 5.4), in their order. Letters and digits are found by Unicode
 * property, and the length counts code points.
 */
export const passwordRules = {
  length: /^.{8,}$/su,
  lowercase: /\p{Ll}/u,
  uppercase: /\p{Lu}/u,
  digit: /\p{Nd}/u,
  // A combining mark belongs to its letter: otherwise "é" would count as special in one of its two spellings.
  special: /[^\p{L}\p{M}\p{Nd}]/u,
} as const

export type PasswordRuleId = keyof typeof passwordRules

export const passwordRuleIds = Object.keys(passwordRules) as PasswordRuleId[]

export const longestPassword = 256

/** The faults of a password, in the words of the API. */
const errorSentences = {
  length: 'Password must be at least 8 characters',
  lowercase: 'Password must contain lowercase letters',
  uppercase: 'Password must contain uppercase letters',
  digit: 'Password must contain numbers',
  special: 'Password must contain special characters',
  too_weak: 'Password is too weak.',
  too_long: `Password must be at most ${longestPassword} characters`,
  unusable_characters: 'Password contains characters that cannot be used',
  leaked: 'This password is in a list of leaked passwords.',
} as const satisfies Record<PasswordRuleId | 'too_weak' | 'too_long' | 'unusable_characters' | 'leaked', string>

export type PasswordErrorId = keyof typeof errorSentences

// With PURE, a page that does not use the sentences does not load them.
export const passwordErrorIds = /* @__PURE__ */ Object.keys(errorSentences) as PasswordErrorId[]

/** The findings about one password, for a page to translate. */
export type PasswordFindings = { errors: PasswordErrorId[]; feedback: FeedbackId[] }

/** The findings in the sentences of the API. The reason why a password is too weak follows the sentence that says so. */
export const inSentences = (ids: PasswordFindings): { errors: string[]; feedback: string[] } => {
  const feedback = ids.feedback.map((id) => feedbackSentences[id])
  const errors = ids.errors.map((id) =>
    id === 'too_weak' ? [errorSentences.too_weak, ...feedback].join(' ') : errorSentences[id],
  )
  return { errors, feedback }
}

/** The refusal of a password that breaks the rules. */
export const rejectPassword = (ids: PasswordFindings) =>
  refuse('password_rejected', { errors: inSentences(ids).errors, ids })

export type PasswordRejection = ReturnType<typeof rejectPassword>
