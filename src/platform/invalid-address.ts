import { isRefused, type Refused, refuse } from '../contract/outcome.js'
import { OperatorError } from '../lib/operator-error.js'

/** The reason why the URL of PostgreSQL, Redis or a mail server is refused. It never quotes the URL, which may have a password. */
export type InvalidAddress = Refused<'invalid_address'> & { reason: string }

export const invalidAddress = (reason: string): InvalidAddress => refuse('invalid_address', { reason })

/** Advice for wrong URLs of PostgreSQL and Redis: most of them have a password that is not encoded. */
export const passwordAdvice = 'in a password, @ is written %40, : %3A, / %2F and ? %3F'
export const wrongPercent = 'has a % that is not followed by two hexadecimal digits: in a password, % is written %25'
export const wrongPort = `names a port that is not a number from 1 to 65535: ${passwordAdvice}`
export const wrongHost = `names a host that cannot be read: ${passwordAdvice}`

export const isInvalidAddress = (address: object): address is InvalidAddress => isRefused(address)

/**
 * The URL was checked when the settings were read. So this throws only if a certificate file that the URL names (`sslrootcert`) has been
 * removed since.
 */
export const validAddress = <Address extends object>(name: string, address: Address | InvalidAddress): Address => {
  if (isInvalidAddress(address)) throw new OperatorError(`${name} is not valid: ${address.reason}`)
  return address
}
