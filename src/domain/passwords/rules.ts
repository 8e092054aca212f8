import type { PasswordStrength } from './strength.js'

export type PasswordValidation = { valid: boolean; errors: string[] }

const longest = 256

/** docs/specification.md, 5.4, in its order. Letters and digits by Unicode property, length in code points. */
const rules: readonly (readonly [holds: RegExp, otherwise: string])[] = [
  [/^.{8,}$/su, 'Password must be at least 8 characters'],
  [/\p{Ll}/u, 'Password must contain lowercase letters'],
  [/\p{Lu}/u, 'Password must contain uppercase letters'],
  [/\p{Nd}/u, 'Password must contain numbers'],
  // A combining mark belongs to its letter: without it "é" would count as special in one of its two spellings.
  [/[^\p{L}\p{M}\p{Nd}]/u, 'Password must contain special characters'],
]

/**
 * Why a text cannot be a password at all, if it cannot. bcrypt would end it at a NUL, and halves of characters would all
 * become the same replacement character: two different texts would sign in.
 */
export const unusable = (password: string): string | undefined => {
  if (password.includes('\0') || /\p{Surrogate}/u.test(password))
    return 'Password contains characters that cannot be used'
  return [...password].length > longest ? `Password must be at most ${longest} characters` : undefined
}

export const validate = (password: string, strength: PasswordStrength): PasswordValidation => {
  const errors = rules.filter(([holds]) => !holds.test(password)).map(([, otherwise]) => otherwise)
  if (!strength.isStrong) errors.push(['Password is too weak.', ...strength.feedback].join(' '))
  return { valid: errors.length === 0, errors }
}
