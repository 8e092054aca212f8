export type OutboundFailure =
  | 'busy'
  | 'connect_timeout'
  | 'encoded'
  | 'forbidden'
  | 'timeout'
  | 'too_large'
  | 'unreachable'

/**
 * Says what happened and to which host, and nothing else: a path, a body or the text of a lower error may hold a code
 * or a secret, so none of them is kept.
 */
export class OutboundFailed extends Error {
  override name = 'OutboundFailed'
  readonly code: OutboundFailure

  constructor(code: OutboundFailure, host: string) {
    super(`The request to ${host} failed: ${code}`)
    this.code = code
  }
}
