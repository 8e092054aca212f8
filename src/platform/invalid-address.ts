import { isRefused, type Refused, refuse } from '../contract/outcome.js'
import { OperatorError } from '../lib/operator-error.js'

/** The reason why the URL of PostgreSQL, Redis or a mail server is refused. Never quotes the URL: it may have a password. */
export type InvalidAddress = Refused<'invalid_address'> & { reason: string }

export const invalidAddress = (reason: string): InvalidAddress => refuse('invalid_address', { reason })

/** Advice for the URLs of PostgreSQL and Redis: most of the wrong ones have a password that is not encoded. */
export const inPasswords = 'in a password, @ is written %40, : %3A, / %2F and ? %3F'
export const wrongPercent = 'has a % that is not followed by two hexadecimal digits: in a password, % is written %25'
export const wrongPort = `names a port that is not a number from 1 to 65535: ${inPasswords}`
export const wrongHost = `names a host that cannot be read: ${inPasswords}`

export const isInvalidAddress = (read: object): read is InvalidAddress => isRefused(read)

/** For an address that is used: the settings have checked it at the start, so this fails only if a file of it is gone. */
export const validAddress = <Address extends object>(name: string, read: Address | InvalidAddress): Address => {
  if (isInvalidAddress(read)) throw new OperatorError(`${name} is not valid: ${read.reason}`)
  return read
}
