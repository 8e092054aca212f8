import { isLoopback } from '../../lib/loopback.js'
import type { Application, ApplicationKind } from './application.js'

/** The faults of an address, in words that follow it in a sentence. */
export const addressFaults = {
  too_long: 'is longer than 2000 characters',
  forbidden_character: 'has a space, a quote, a backslash, a control character or a letter outside of ASCII',
  wildcard: 'has a *: each address is registered by itself',
  fragment: 'has a fragment (#)',
  not_an_address: 'is no address such as https://app.example.com/callback',
  userinfo: 'has a username or a password before the host',
  not_https: 'does not begin with https://; http is for this machine (localhost), and not in production',
  not_native: 'is not http://127.0.0.1, http://[::1] or of a scheme with a dot, such as com.example.app:/callback',
} as const
export type AddressFault = keyof typeof addressFaults

const maxLength = 2_000
/** RFC 3986 without the quote, which would end a string in the file that an address is pasted into. */
const allowedCharacters = /^[\w\-.~:/?#[\]@!$&()*+,;=%]*$/

/** The reversed name of a domain (RFC 8252, 7.1). No browser takes a scheme with a dot for a script. */
const privateUseScheme = /^[a-z][a-z\d+-]*(?:\.[a-z\d+-]+)+:\//
const nativeLoopback = /^http:\/\/(?:127\.0\.0\.1|\[::1\])(?=[:/?]|$)/
const webAddress = /^https?:\/\/[^/?]/

type Rules = { kind: ApplicationKind; production: boolean }

const isSecureOrLocal = (text: string, { protocol, hostname }: URL, production: boolean) =>
  webAddress.test(text) && (protocol === 'https:' || (!production && isLoopback(hostname)))

const schemeFault = (text: string, url: URL, { kind, production }: Rules): AddressFault | undefined => {
  if (kind === 'native') return nativeLoopback.test(text) || privateUseScheme.test(text) ? undefined : 'not_native'
  return isSecureOrLocal(text, url, production) ? undefined : 'not_https'
}

/** Whether the application may register the address. Nothing else ever gets a code, or is followed after a logout. */
export const addressFault = (text: string, rules: Rules): AddressFault | undefined => {
  if (text.length > maxLength) return 'too_long'
  if (!allowedCharacters.test(text)) return 'forbidden_character'
  if (text.includes('*')) return 'wildcard'
  if (text.includes('#')) return 'fragment'
  if (!URL.canParse(text)) return 'not_an_address'
  const url = new URL(text)
  if (url.username !== '' || url.password !== '' || /^[^/]*\/\/[^/?]*@/.test(text)) return 'userinfo'
  return schemeFault(text, url, rules)
}

/** The fault of the address for logout notices, which this service sends whatever the kind of the application. */
export const backchannelFault = (text: string, production: boolean) => addressFault(text, { kind: 'web', production })

/** A native application listens on a port that is free at that moment (RFC 8252, 7.3). */
const withoutPort = (text: string) => text.replace(/^(http:\/\/(?:127\.0\.0\.1|\[::1\])):\d{1,5}(?=[/?]|$)/, '$1')

/** Compares byte for byte, except for the port of a native application on the user's machine. */
const isRegistered = (registered: readonly string[], kind: ApplicationKind, given: string) =>
  registered.includes(given) ||
  (kind === 'native' &&
    nativeLoopback.test(given) &&
    URL.canParse(given) &&
    registered.some((address) => withoutPort(address) === withoutPort(given)))

export const isRedirectAddress = (
  { kind, redirectAddresses }: Pick<Application, 'kind' | 'redirectAddresses'>,
  given: string,
) => isRegistered(redirectAddresses, kind, given)

export const isLogoutAddress = (
  { kind, logoutAddresses }: Pick<Application, 'kind' | 'logoutAddresses'>,
  given: string,
) => isRegistered(logoutAddresses, kind, given)

/**
 * True if the address is on the host of Latchkey itself: cookies are for all ports of a host, so the application would get ours. Loopback
 * is fine, because in development everything is on one machine.
 */
export const isOnOwnHost = (address: string, ownUrl: string) => {
  const { hostname } = new URL(ownUrl)
  return !isLoopback(hostname) && URL.canParse(address) && new URL(address).hostname === hostname
}
export const ownHostWarning =
  'is on the host of Latchkey itself: the application gets its cookies, and one may overwrite those of the other. Use another host'

/** The place where users start again if the operator names no other: the origin of the first address, or its private-use scheme. */
export const defaultHome = ([first = '']: readonly string[]) => {
  if (!URL.canParse(first)) return first
  const { origin, protocol } = new URL(first)
  return origin === 'null' ? `${protocol}/` : origin
}
