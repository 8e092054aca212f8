import type { Refused } from '#contract/outcome.js'
import type { PasswordFindings } from '#contract/password-rules.js'
import type { InvalidFields } from '#contract/profile-fields.js'
import type { RefusalCode } from '#contract/refusals.js'
import type { ProofMethod } from '#contract/second-factors.js'
import { objectIn, refusalOf } from '../../answers.js'

/**
 * The reason why a call was refused: a code of the service, or one of two that the client adds. `no_answer`: the service could not be
 * reached. `unknown`: an answer that is not from the service, such as the error page of a proxy, or another page with status
 * 200 because the proxy does not lead to the service. A newer service may have codes that are not in this list.
 */
export type ClientRefusalCode = RefusalCode | 'no_answer' | 'unknown'

export type Refusal = Refused<ClientRefusalCode> & {
  readonly value?: undefined
  /** The HTTP status, or 0 if there was no answer. */
  readonly status: number
  /** How many seconds to wait before the next attempt, if the service asks for that. */
  readonly retryAfter?: number | undefined
  /** For developers, in English. */
  readonly message?: string
  /** The faults of a password, for `password_rejected`. */
  readonly ids?: PasswordFindings
  /** The fault of each field, for `invalid_fields`. */
  readonly fields?: InvalidFields['fields']
  /** The methods with which the user can prove who they are, for `fresh_sign_in_required`. */
  readonly methods?: readonly ProofMethod[]
  /** The id of the request in the log of the service, for a failure on its side (status 5xx). */
  readonly requestId?: string
  /** Why the user is signed out, if the browser has lost the key of its session: for words on the page that asks to sign in. */
  readonly because?: 'device_proof_missing'
  /** When another username can be chosen, as an ISO date, for `too_many_usernames`. */
  readonly freeFrom?: string
}

/** Every call returns its value, or a refusal. Calls do not throw. */
export type Answer<Value> = (NoRefusal & { readonly value: Value }) | Refusal

/**
 * The fields that a refusal has and a value has not. Both types name all fields, so that `if (answer.refused)` works without `strict`,
 * too.
 */
type NoRefusal = { readonly [Name in Exclude<keyof Refusal, 'value'>]?: undefined }

/** Whether the service just cannot answer at the moment. Such a refusal says nothing about whether the user is signed in. */
export const isTemporary = ({ status }: Refusal): boolean => status < 400 || status === 429 || status >= 500

const noAnswer: Refusal = { refused: 'no_answer', status: 0 }

/** Sends one request and reads its answer. A failure is a value too. */
export const answerOf = async <Value>(request: () => Promise<Response>): Promise<Answer<Value>> => {
  try {
    const response = await request()
    const { ok, status } = response
    const body = objectIn(await response.text())
    // Another page can come instead of the answer, such as that of a hotel network, or `index.html` if the proxy has no rule.
    return ok && (body || status === 204) ? { value: body as Value } : refusalOf(response, body)
  } catch {
    return noAnswer
  }
}
