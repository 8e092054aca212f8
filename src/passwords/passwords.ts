import { isRefused } from '../contract/outcome.js'
import {
  inSentences,
  type PasswordFindings,
  type PasswordRejection,
  rejectPassword,
} from '../contract/password-rules.js'
import type { Strength } from '../contract/schemas.js'

import { condensed, costOf, createDecoy } from './hashes.js'
import { readImportedHash } from './imported-hashes.js'
import type { LeakedList } from './leaked-list.js'
import { unusableReason, validate } from './rules.js'
import { noStrength, type PasswordStrength, type Person, personalInputs, strengthOf } from './strength.js'
import type { Asker, Busy, Workers } from './workers.js'

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
