import { isRefused, type Refused, refuse } from '../contract/outcome.js'
import { OperatorError } from '../lib/operator-error.js'

/** Why an address of PostgreSQL, Redis or a mail server is refused. Never quotes the address: it may have a password. */
export type InvalidAddress = Refused<'invalid_address'> & { reason: string }

export const invalidAddress = (reason: string): InvalidAddress => refuse('invalid_address', { reason })

export const isInvalidAddress = (read: object): read is InvalidAddress => isRefused(read)

/** For an address that is used: the settings have checked it at the start, so this fails only if a file of it is gone. */
export const validAddress = <Address extends object>(name: string, read: Address | InvalidAddress): Address => {
  if (isInvalidAddress(read)) throw new OperatorError(`${name} is not valid: ${read.reason}`)
  return read
}
