import { isLoopback } from '../lib/networks.js'
import type { Application, ApplicationKind } from './application.js'

/** The faults of an address, each as the end of a sentence that begins with the address. */
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
/** The characters of RFC 3986 without the quote, which would end a string in a file that an address is pasted into. */
const allowedCharacters = /^[\w\-.~:/?#[\]@!$&()*+,;=%]*$/

/** A scheme that is the reversed name of a domain (RFC 8252, 7.1). No browser runs a scheme with a dot as a script. */
const privateUseScheme = /^[a-z][a-z\d+-]*(?:\.[a-z\d+-]+)+:\//
const nativeLoopback = /^http:\/\/(?:127\.0\.0\.1|\[::1\])(?=[:/?]|$)/
const webAddress = /^https?:\/\/[^/?]/

type AddressContext = { kind: ApplicationKind; production: boolean }

const isSecureOrLocal = (text: string, { protocol, hostname }: URL, production: boolean) =>
  webAddress.test(text) && (protocol === 'https:' || (!production && isLoopback(hostname)))

const schemeFault = (text: string, url: URL, { kind, production }: AddressContext): AddressFault | undefined => {
  if (kind === 'native') return nativeLoopback.test(text) || privateUseScheme.test(text) ? undefined : 'not_native'
  return isSecureOrLocal(text, url, production) ? undefined : 'not_https'
}

/**
 * Why the application may not register the address; undefined if it may. Only registered addresses get codes and are redirected to after a
 * logout.
 */
export const addressFault = (text: string, context: AddressContext): AddressFault | undefined => {
  if (text.length > maxLength) return 'too_long'
  if (!allowedCharacters.test(text)) return 'forbidden_character'
  if (text.includes('*')) return 'wildcard'
  if (text.includes('#')) return 'fragment'
  if (!URL.canParse(text)) return 'not_an_address'
  const url = new URL(text)
  if (url.username !== '' || url.password !== '' || /^[^/]*\/\/[^/?]*@/.test(text)) return 'userinfo'
  return schemeFault(text, url, context)
}

/** The fault of the address for logout notices, which this service sends whatever the kind of the application. */
export const backchannelFault = (text: string, production: boolean) => addressFault(text, { kind: 'web', production })

/** A native application listens on any port that is free (RFC 8252, 7.3), so the port is not compared. */
const withoutPort = (text: string) => text.replace(/^(http:\/\/(?:127\.0\.0\.1|\[::1\])):\d{1,5}(?=[/?]|$)/, '$1')

/** Compares byte for byte, except for the port of a native application on the user's machine. */
const isRegistered = (registered: readonly string[], kind: ApplicationKind, address: string) =>
  registered.includes(address) ||
  (kind === 'native' &&
    nativeLoopback.test(address) &&
    URL.canParse(address) &&
    registered.some((each) => withoutPort(each) === withoutPort(address)))

export const isRedirectAddress = (
  { kind, redirectAddresses }: Pick<Application, 'kind' | 'redirectAddresses'>,
  address: string,
) => isRegistered(redirectAddresses, kind, address)

export const isLogoutAddress = (
  { kind, logoutAddresses }: Pick<Application, 'kind' | 'logoutAddresses'>,
  address: string,
) => isRegistered(logoutAddresses, kind, address)

/**
 * True if the address is on the host of Latchkey itself. Cookies are for all ports of a host, so the application would get those of
 * Latchkey. Loopback is fine, because in development everything is on one machine.
 */
export const isOnOwnHost = (address: string, ownUrl: string) => {
  const { hostname } = new URL(ownUrl)
  return !isLoopback(hostname) && URL.canParse(address) && new URL(address).hostname === hostname
}
export const ownHostWarning =
  "is on the host of Latchkey itself: the application gets Latchkey's cookies, and each may overwrite those of the other. Use another host"

/** The URL where users start again if the operator names no other: the origin of the first address, or its private-use scheme. */
export const defaultHome = ([first = '']: readonly string[]) => {
  if (!URL.canParse(first)) return first
  const { origin, protocol } = new URL(first)
  return origin === 'null' ? `${protocol}/` : origin
}
