import { createHash } from 'node:crypto'
import { isRedirectAddress } from '../../applications/application-rules.js'
import type { Application } from '../../applications/applications.js'

import { type Refused, refuse } from '../../contract/outcome.js'
import { equalInConstantTime } from '../../lib/random.js'
import type { CodeRow } from './tokens.store.js'

export type CodeUse = { redirectAddress: string | undefined; verifier?: string | undefined }

/** Each fault that a code can have, in the order in which they are checked. */
export type CodeFault =
  | 'unknown_code'
  | 'reused_code'
  | 'retried_code'
  | 'expired_code'
  | 'other_redirect'
  | 'removed_redirect'
  | 'missing_verifier'
  | 'unexpected_verifier'
  | 'malformed_verifier'
  | 'wrong_verifier'
  | 'missing_challenge'
  | 'ended'

/** The form of a verifier (RFC 7636, 4.1). */
const verifierShape = /^[\w.~-]{43,128}$/

/** Compares by S256 only (RFC 7636, 4.6): a challenge that was meant as `plain` never fits. */
const verifierFits = (verifier: string, challenge: string) =>
  equalInConstantTime(
    Buffer.from(createHash('sha256').update(verifier, 'ascii').digest('base64url'), 'ascii'),
    Buffer.from(challenge, 'utf8'),
  )

/** A challenge needs its verifier, and a verifier needs its challenge (RFC 9700, 2.1.1 and 4.8.2). */
const verifierFault = (
  challenge: string | null,
  verifier: string | undefined,
  pkce: boolean,
): CodeFault | undefined => {
  if (challenge === null) {
    if (verifier !== undefined) return 'unexpected_verifier'
    return pkce ? 'missing_challenge' : undefined
  }
  if (verifier === undefined) return 'missing_verifier'
  if (!verifierShape.test(verifier)) return 'malformed_verifier'
  return verifierFits(verifier, challenge) ? undefined : 'wrong_verifier'
}

/** Whether a second use is a retry. A program whose answer was lost tries again at once, and a thief does not have the verifier. */
const isRetry = ({ is_just_used, challenge }: CodeRow, verifier: string | undefined) =>
  is_just_used && challenge !== null && verifierFault(challenge, verifier, true) === undefined

/** The rules of the application as they are now: an operator may have changed them since the code was made. */
export type CodeRules = Pick<Application, 'pkce' | 'kind' | 'redirectAddresses'>

const faultOf = (row: CodeRow | undefined, use: CodeUse, rules: CodeRules): CodeFault | undefined => {
  if (!row) return 'unknown_code'
  if (row.is_used) return isRetry(row, use.verifier) ? 'retried_code' : 'reused_code'
  if (row.has_expired) return 'expired_code'
  if (row.redirect_address !== use.redirectAddress) return 'other_redirect'
  if (!isRedirectAddress(rules, row.redirect_address)) return 'removed_redirect'
  return verifierFault(row.challenge, use.verifier, rules.pkce) ?? (row.is_authorized ? undefined : 'ended')
}

/** Returns the row of the code, or refuses with its fault. */
export const judgeCode = (row: CodeRow | undefined, use: CodeUse, rules: CodeRules): CodeRow | Refused<CodeFault> => {
  const fault = faultOf(row, use, rules)
  return fault === undefined && row ? row : refuse(fault ?? 'unknown_code')
}
