export type OutboundFailure =
  | 'busy'
  | 'connect_timeout'
  | 'encoded'
  | 'forbidden'
  | 'private_address'
  | 'timeout'
  | 'tls'
  | 'too_large'
  | 'unreachable'

/**
 * Contains only the kind of the failure and the host, because a path, a body or the text of the cause may hold a code or a secret.
 */
export class OutboundFailed extends Error {
  override name = 'OutboundFailed'
  readonly code: OutboundFailure

  constructor(code: OutboundFailure, host: string) {
    super(`The request to ${host} failed: ${code}`)
    this.code = code
  }
}
