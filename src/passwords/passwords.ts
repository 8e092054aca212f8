import { isRefused } from '../contract/outcome.js'
import {
  type FeedbackId,
  inSentences,
  longestPassword,
  type PasswordErrorId,
  type PasswordFindings,
  type PasswordRejection,
  passwordRuleIds,
  passwordRules,
  rejectPassword,
} from '../contract/password-rules.js'
import type { Strength } from '../contract/schemas.js'
import type { Estimate } from './estimator.js'
import { condensed, costOf, createDecoy, readImportedHash } from './hashes.js'
import type { LeakedList } from './leaked-list.js'
import type { Asker, Busy, Workers } from './workers.js'

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

export type PasswordStrength = { score: number; feedback: FeedbackId[]; isStrong: boolean }

/** What is known about the user who chooses the password. */
type Person = { username?: string | undefined; email?: string | undefined; name?: string | null | undefined }

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
const personalInputs = ({ username, email, name }: Person, words: readonly string[]): string[] => {
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

const noStrength: PasswordStrength = { score: 0, feedback: [], isStrong: false }

type VerificationResult = {
  matches: boolean
  /** Whether the hash should be replaced: it is cheaper than it should be by now, or comes from another system. */
  needsRehash: boolean
}

/** Checks and hashes passwords. When many requests wait, the asker decides whose turn it is (workers.ts). */
export type Passwords = {
  /** Checks a new password: the rules and the strength of docs/specification.md, 5.4 and 2.4. */
  check(password: string, person: Person, asker: Asker): Promise<Strength | Busy>
  /** The refusal if this user cannot have this password. Undefined if it is fine. */
  refusalFor(password: string, person: Person, asker: Asker): Promise<undefined | PasswordRejection | Busy>
  hash(password: string, asker: Asker): Promise<string | Busy>
  /** Takes as long without a hash as with one, so that the time does not show whether a user has a password. */
  verify(password: string, hash: string | null | undefined, asker: Asker): Promise<VerificationResult | Busy>
}

type Dependencies = {
  workers: Workers
  cost: number
  /** Names of the service and its operator, which are easy to guess. */
  words: readonly string[]
  /** Passwords that no user may choose. Undefined if there is no such list. */
  leaked?: Pick<LeakedList, 'has'> | undefined
}

export const createPasswords = ({ workers, cost, words, leaked }: Dependencies): Passwords => {
  const decoy = createDecoy(cost)
  // After BCRYPT_COST was lowered, some hashes have a higher cost. Once such a hash was compared, every failure takes as long as a failure
  // with it. The cost of failures grows by one step at most: otherwise a single guess at an imported hash of a high cost would slow down the
  // failures of all users.
  let failureCost = cost
  const maxFailureCost = cost + 1

  const check = async (password: string, person: Person, asker: Asker): Promise<Strength | Busy> => {
    const fault = unusableReason(password)
    if (fault !== undefined) return strengthBody(noStrength, { errors: [fault], feedback: [] })
    const estimate = await workers.estimate(password, personalInputs(person, words), asker)
    if (isRefused(estimate)) return estimate
    const strength = strengthOf(estimate)
    return strengthBody(strength, validate(password, strength))
  }

  const refusalFor: Passwords['refusalFor'] = async (password, person, asker) => {
    const strength = await check(password, person, asker)
    if (isRefused(strength)) return strength
    if (!strength.validation.valid) return rejectPassword(strength.ids)
    return (await leaked?.has(password)) ? rejectPassword({ errors: ['leaked'], feedback: [] }) : undefined
  }

  const verifyImported = async (password: string, hash: string, asker: Asker): Promise<VerificationResult | Busy> => {
    const matches = await workers.compareImported(password, hash, failureCost, asker)
    return isRefused(matches) ? matches : { matches, needsRehash: matches }
  }

  const verify: Passwords['verify'] = async (password, hash, asker) => {
    const storedCost = hash ? costOf(hash) : undefined
    failureCost = Math.max(failureCost, Math.min(storedCost ?? 0, maxFailureCost))
    // A text that cannot be a password matches no hash, but takes the same time.
    const isUsable = unusableReason(password) === undefined
    if (hash && storedCost === undefined && isUsable && readImportedHash(hash))
      return verifyImported(password, hash, asker)
    const canMatch = hash && storedCost !== undefined && isUsable
    const isEqual = await workers.compare(condensed(password), canMatch ? hash : decoy, failureCost, asker)
    if (isRefused(isEqual)) return isEqual
    const matches = isEqual && Boolean(canMatch)
    return { matches, needsRehash: matches && storedCost !== undefined && storedCost < cost }
  }

  return { check, refusalFor, hash: (password, asker) => workers.hash(condensed(password), cost, asker), verify }
}

/** The ids are for our pages, the sentences for other users of the API. */
const strengthBody = ({ score, isStrong }: PasswordStrength, ids: PasswordFindings): Strength => {
  const { errors, feedback } = inSentences(ids)
  return { strength: { score, feedback, isStrong }, validation: { valid: errors.length === 0, errors }, ids }
}
