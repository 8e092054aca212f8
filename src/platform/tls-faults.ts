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
