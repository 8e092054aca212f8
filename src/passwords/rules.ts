import {
  longestPassword,
  type PasswordErrorId,
  type PasswordFindings,
  passwordRuleIds,
  passwordRules,
} from '../contract/password-rules.js'
import type { PasswordStrength } from './strength.js'

/**
 * The reason why a text cannot be a password at all. bcrypt would cut it at a NUL. Lone surrogates would all become the same replacement
 * character, so that two different texts would match.
 */
export const unusableReason = (password: string): PasswordErrorId | undefined => {
  if (password.includes('\0') || /\p{Surrogate}/u.test(password)) return 'unusable_characters'
  return [...password].length > longestPassword ? 'too_long' : undefined
}

/** Every rule that a password breaks, in the order of docs/specification.md, 5.4, and the feedback of the estimate. */
export const validate = (password: string, { isStrong, feedback }: PasswordStrength): PasswordFindings => {
  const brokenRules: PasswordErrorId[] = passwordRuleIds.filter((id) => !passwordRules[id].test(password))
  return { errors: isStrong ? brokenRules : [...brokenRules, 'too_weak'], feedback }
}
