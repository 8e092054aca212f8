import type { InvalidFields } from '#contract/profile-fields.js'
import type { RefusalCode } from '#contract/refusals.js'

/**
 * A code of the service, or one that this package adds. `no_answer`: the service could not be reached in time. `unknown`: an answer that
 * is not from the service, such as the error page of a proxy. `invalid_webhook`: a webhook that is not genuine, or is too old. A newer
 * service may have codes that are not in this list.
 */
export type ServiceErrorCode = RefusalCode | 'no_answer' | 'unknown' | 'invalid_webhook'

type Details = {
  status?: number
  message?: string
  retryAfter?: number | undefined
  fields?: InvalidFields['fields'] | undefined
  cause?: unknown
}

/** A call was refused. No other error is thrown. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError'
  readonly code: ServiceErrorCode
  /** The HTTP status, or 0 if there was no answer. */
  readonly status: number
  /** How many seconds to wait before the next attempt: after a limit, `too_many_mails`, or while the service is busy. */
  readonly retryAfter: number | undefined
  /** The fault of each field, for `invalid_fields`. */
  readonly fields: InvalidFields['fields'] | undefined

  constructor(code: ServiceErrorCode, { status = 0, message = code, retryAfter, fields, cause }: Details = {}) {
    super(message, { cause })
    this.code = code
    this.status = status
    this.retryAfter = retryAfter
    this.fields = fields
  }
}
