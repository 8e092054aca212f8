import { type Refused, refuse } from '../contract/outcome.js'
import { isLoopback } from '../lib/networks.js'
import { displayName } from '../users/names.js'

/** `web` keeps a secret on its server; `browser` and `native` run where no secret can be kept. */
export type ApplicationKind = 'web' | 'browser' | 'native'

/** A program that signs its users in here. Its `id` is the `client_id` of the protocol. */
export type Application = {
  id: string
  name: string
  /** The URL to which our pages lead users back, for example when a request has expired. */
  home: string
  kind: ApplicationKind
  redirectAddresses: readonly string[]
  logoutAddresses: readonly string[]
  backchannelLogout: string | undefined
  /** `groups`: only members of one of the groups get in. If the list is empty, no user does. */
  access: 'everyone' | 'groups'
  groups: readonly string[]
  factors: 1 | 2
  /** How old the user's last proof may be, in milliseconds. Undefined: a sign-in of any age is enough. */
  maxAge: number | undefined
  consent: 'none' | 'ask'
  pkce: boolean
  algorithm: 'RS256' | 'ES256'
  /** Whether devices without a browser may sign in with it (RFC 8628). Only for `native`. */
  deviceFlow: boolean
  createdAt: Date
}

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
  { kind, redirectAddresses }: { kind: ApplicationKind; redirectAddresses: readonly string[] },
  address: string,
) => isRegistered(redirectAddresses, kind, address)

export const isLogoutAddress = (
  { kind, logoutAddresses }: { kind: ApplicationKind; logoutAddresses: readonly string[] },
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

export const longestApplicationName = 60

export type NewApplication = Omit<Application, 'id' | 'createdAt'>
/** The kind cannot be changed: it decides which addresses are allowed, and whether there is a secret. */
export type ApplicationChange = Partial<Omit<NewApplication, 'kind'>>

export type ApplicationRefusal =
  | Refused<'bad_name'>
  | Refused<'no_redirect_address'>
  | Refused<'pkce_needed'>
  | Refused<'consent_needed'>
  | Refused<'device_flow_needs_native'>
  | (Refused<'bad_address'> & { address: string; fault: AddressFault })

type Rule = (application: NewApplication, production: boolean) => ApplicationRefusal | undefined

const addressRule: Rule = (application, production) => {
  const { kind, home, redirectAddresses, logoutAddresses, backchannelLogout } = application
  for (const address of [...redirectAddresses, ...logoutAddresses, home]) {
    const fault = addressFault(address, { kind, production })
    if (fault) return refuse('bad_address', { address, fault })
  }
  if (backchannelLogout === undefined) return undefined
  const fault = backchannelFault(backchannelLogout, production)
  return fault ? refuse('bad_address', { address: backchannelLogout, fault }) : undefined
}

const rules: readonly Rule[] = [
  ({ name }) => (displayName(name, longestApplicationName) === name ? undefined : refuse('bad_name')),
  ({ redirectAddresses }) => (redirectAddresses.length > 0 ? undefined : refuse('no_redirect_address')),
  addressRule,
  // Without a secret, only the verifier of PKCE shows that a code is used by the program that asked for it.
  ({ kind, pkce }) => (kind === 'web' || pkce ? undefined : refuse('pkce_needed')),
  // Any program on the user's machine can pose as a native application, so its user is always asked.
  ({ kind, consent }) => (kind !== 'native' || consent === 'ask' ? undefined : refuse('consent_needed')),
  ({ kind, deviceFlow }) => (kind === 'native' || !deviceFlow ? undefined : refuse('device_flow_needs_native')),
]

/** Finds the fault of an application, before anything is written. */
export const applicationFault = (application: NewApplication, production: boolean) =>
  rules.map((rule) => rule(application, production)).find((refusal) => refusal !== undefined)
