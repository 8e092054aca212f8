import { refuse } from './outcome.js'
import { type FeedbackId, feedbackSentences } from './password-feedback.js'

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
