import { createHash } from 'node:crypto'
import { type Refused, refuse } from '../../contract/outcome.js'
import { equalInConstantTime } from '../../lib/random.js'
import type { Application } from '../applications/application.js'
import { isRedirectAddress } from '../applications/application-addresses.js'
import type { CodeRow } from './tokens.store.js'

export type CodeUse = { redirectAddress: string | undefined; verifier?: string | undefined }

/** Each way in which a code is not good, in the order in which it is looked for. */
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

/** RFC 7636, 4.1. */
const verifierShape = /^[\w.~-]{43,128}$/

/** RFC 7636, 4.6. Only S256: a challenge that was meant as `plain` never fits. */
const verifierFits = (verifier: string, challenge: string) =>
  equalInConstantTime(
    Buffer.from(createHash('sha256').update(verifier, 'ascii').digest('base64url'), 'ascii'),
    Buffer.from(challenge, 'utf8'),
  )

/** A challenge and its verifier belong together: neither stands without the other (RFC 9700, 2.1.1 and 4.8.2). */
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

/** A program whose answer was lost tries again at once. A thief does not have the verifier. */
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

/** The code of this application, if it is good. */
export const judgeCode = (row: CodeRow | undefined, use: CodeUse, rules: CodeRules): CodeRow | Refused<CodeFault> => {
  const fault = faultOf(row, use, rules)
  return fault === undefined && row ? row : refuse(fault ?? 'unknown_code')
}
