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

/** The reason why a server that answers cannot be used with TLS. */
export type TlsFault = 'unknown authority' | 'other name' | 'expired' | 'not valid yet' | 'no TLS'

// The keys are error codes of Node and OpenSSL.
const faults: Readonly<Record<string, TlsFault>> = {
  DEPTH_ZERO_SELF_SIGNED_CERT: 'unknown authority',
  SELF_SIGNED_CERT_IN_CHAIN: 'unknown authority',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'unknown authority',
  UNABLE_TO_GET_ISSUER_CERT: 'unknown authority',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'unknown authority',
  ERR_TLS_CERT_ALTNAME_INVALID: 'other name',
  CERT_HAS_EXPIRED: 'expired',
  CERT_NOT_YET_VALID: 'not valid yet',
  ERR_SSL_WRONG_VERSION_NUMBER: 'no TLS',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'no TLS',
}

export const tlsFaultOf = (code: string | undefined, message: string): TlsFault | undefined =>
  /SSL routines.*wrong version number/.test(message) ? 'no TLS' : faults[code ?? '']

export const tlsFaultWords: Readonly<Record<TlsFault, string>> = {
  'unknown authority': 'its certificate is not from a known authority',
  'other name': 'its certificate is for another host name',
  expired: 'its certificate has expired',
  'not valid yet': 'its certificate is not valid yet',
  'no TLS': 'it does not speak TLS on this port',
}
