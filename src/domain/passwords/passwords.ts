import { isRefused } from '../../contract/outcome.js'
import {
  inSentences,
  type PasswordFindings,
  type PasswordRejection,
  rejectPassword,
} from '../../contract/password-rules.js'
import type { Strength } from '../../contract/schemas.js'
import { condensed, costOf, createDecoy } from './hashes.js'
import { readImportedHash } from './imported-hashes.js'
import type { LeakedList } from './leaked-list.js'
import { unusable, validate } from './rules.js'
import { noStrength, type PasswordStrength, type Person, personalInputs, strengthOf } from './strength.js'
import type { Asker, Busy, Workers } from './workers.js'

type Verified = {
  matches: boolean
  /** The hash is cheaper than it should be by now, or another system's. */
  needsRehash: boolean
}

/** Checks and hashes passwords. The asker decides whose turn it is when many wait (workers.ts). */
export type Passwords = {
  /** Checks a new password: the rules and the strength of docs/specification.md, 5.4 and 2.4. */
  check(password: string, person: Person, asker: Asker): Promise<Strength | Busy>
  /** The refusal if this user cannot have this password; undefined if it is fine. */
  refusalFor(password: string, person: Person, asker: Asker): Promise<undefined | PasswordRejection | Busy>
  hash(password: string, asker: Asker): Promise<string | Busy>
  /** Takes as long without a hash as with one, so that the time does not show whether a user has a password. */
  verify(password: string, hash: string | null | undefined, asker: Asker): Promise<Verified | Busy>
}

type Dependencies = {
  workers: Workers
  cost: number
  /** Names of the service and its operator, which are easy to guess. */
  words: readonly string[]
  /** Passwords that no user may choose; without it, there are none. */
  leaked?: Pick<LeakedList, 'has'> | undefined
}

export const createPasswords = ({ workers, cost, words, leaked }: Dependencies): Passwords => {
  const decoy = createDecoy(cost)
  // After the cost was lowered, some hashes have a higher one. Once one was seen, every failure takes as long as that. One step
  // at most: otherwise a single guess at an imported hash of a high cost would slow down the failures of all.
  let failureCost = cost
  const maxFailureCost = cost + 1

  const check = async (password: string, person: Person, asker: Asker): Promise<Strength | Busy> => {
    const fault = unusable(password)
    if (fault !== undefined) return strengthBody(noStrength, { errors: [fault], feedback: [] })
    const estimate = await workers.estimate(password, personalInputs(person, words), asker)
    if (isRefused(estimate)) return estimate
    const strength = strengthOf(estimate)
    return strengthBody(strength, validate(password, strength))
  }

  const refusalFor: Passwords['refusalFor'] = async (password, person, asker) => {
    const checked = await check(password, person, asker)
    if (isRefused(checked)) return checked
    if (!checked.validation.valid) return rejectPassword(checked.ids)
    return (await leaked?.has(password)) ? rejectPassword({ errors: ['leaked'], feedback: [] }) : undefined
  }

  const verifyImported = async (password: string, hash: string, asker: Asker): Promise<Verified | Busy> => {
    const matches = await workers.compareImported(password, hash, failureCost, asker)
    return isRefused(matches) ? matches : { matches, needsRehash: matches }
  }

  const verify: Passwords['verify'] = async (password, hash, asker) => {
    const storedCost = hash ? costOf(hash) : undefined
    failureCost = Math.max(failureCost, Math.min(storedCost ?? 0, maxFailureCost))
    // A text that cannot be a password matches nothing, and takes the same time.
    const isUsable = unusable(password) === undefined
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

/** The ids for our pages, and beside them the sentences of the API. */
const strengthBody = ({ score, isStrong }: PasswordStrength, ids: PasswordFindings): Strength => {
  const { errors, feedback } = inSentences(ids)
  return { strength: { score, feedback, isStrong }, validation: { valid: errors.length === 0, errors }, ids }
}
