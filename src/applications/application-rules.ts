import { type Refused, refuse } from '../contract/outcome.js'
import { isLoopback } from '../lib/networks.js'
import { displayName } from '../users/names.js'

/**
 * `web` keeps a secret on its server; `browser` and `native` run where no secret can be kept. Nobody has registered a `document`: its id is
 * the address of a document about it, of which the row is a copy.
 */
export type ApplicationKind = 'web' | 'browser' | 'native' | 'document'

/** A program that signs its users in here. Its `id` is the `client_id` of the protocol. */
export type Application = {
  id: string
  /** The address of its document, for the kind `document`. */
  document: string | undefined
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
  /** The site that a proxy protects by asking us: scheme, host and port. */
  proxyOrigin: string | undefined
  /** What anybody may see there. `isOpenPath` compares. */
  openPaths: readonly string[]
  openPreflight: boolean
  /** Whether programs may enter there with a personal token of a user. */
  tokens: boolean
  createdAt: Date
  /** The configuration file that owns it. Undefined: pages and commands may change it. */
  setByFile: string | undefined
  /** Whether that file names its secrets too. */
  secretsByFile: boolean
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
  not_native:
    'is not http://127.0.0.1, http://[::1], http://localhost, https:// or of a scheme with a dot, such as com.example.app:/callback',
} as const
export type AddressFault = keyof typeof addressFaults

const maxLength = 2_000
/** The characters of RFC 3986 without the quote, which would end a string in a file that an address is pasted into. */
const allowedCharacters = /^[\w\-.~:/?#[\]@!$&()*+,;=%]*$/

/** A scheme that is the reversed name of a domain (RFC 8252, 7.1). No browser runs a scheme with a dot as a script. */
const privateUseScheme = /^[a-z][a-z\d+-]*(?:\.[a-z\d+-]+)+:\//
const nativeLoopback = /^http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost)(?=[:/?]|$)/
/** A link that a telephone opens in the program that has claimed it (RFC 8252, 7.2). */
const claimedLink = /^https:\/\/[^/?]/
const webAddress = /^https?:\/\/[^/?]/

type AddressContext = { kind: ApplicationKind; production: boolean }

const isSecureOrLocal = (text: string, { protocol, hostname }: URL, production: boolean) =>
  webAddress.test(text) && (protocol === 'https:' || (!production && isLoopback(hostname)))

const schemeFault = (text: string, url: URL, { kind, production }: AddressContext): AddressFault | undefined => {
  if (kind === 'native')
    return [nativeLoopback, privateUseScheme, claimedLink].some((each) => each.test(text)) ? undefined : 'not_native'
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

/** Whether the address leads to a program on the user's own machine. */
export const isLoopbackRedirect = (address: string) => nativeLoopback.test(address) && URL.canParse(address)

/** Which addresses of its document a program can have. Others do not count. */
export const isDocumentRedirect = (address: string) =>
  addressFault(address, { kind: 'native', production: true }) === undefined && !privateUseScheme.test(address)

/** A native application listens on any port that is free (RFC 8252, 7.3), so the port is not compared. */
const withoutPort = (text: string) =>
  text.replace(/^(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost)):\d{1,5}(?=[/?]|$)/, '$1')

/** Compares byte for byte, except for the port of a native application on the user's machine. */
const isRegistered = (registered: readonly string[], kind: ApplicationKind, address: string) =>
  registered.includes(address) ||
  ((kind === 'native' || kind === 'document') &&
    isLoopbackRedirect(address) &&
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
export const defaultHome = ([first = '']: readonly string[], proxyOrigin?: string) => {
  if (proxyOrigin !== undefined) return `${proxyOrigin}/`
  if (!URL.canParse(first)) return first
  const { origin, protocol } = new URL(first)
  return origin === 'null' ? `${protocol}/` : origin
}

/** The faults of the address of a protected application, each as the end of a sentence that begins with the address. */
export const proxyFaults = {
  ...addressFaults,
  not_https:
    'does not begin with https://; http is possible outside production only, for hosts that get our cookies (COOKIE_DOMAIN)',
  not_an_origin: 'has more than a scheme, a host and a port, such as https://wiki.example.com',
  own_origin: 'is the address of Latchkey itself. Where both share a host, the proxy asks /api/auth/verify',
} as const
type ProxyFault = keyof typeof proxyFaults

/** As it is compared: a host in small letters and the alphabet of names, without the port that browsers leave out. */
const originOf = (address: string) => (URL.canParse(address) ? new URL(address).origin : address)

/** As it is stored, if the address has no more than that; otherwise as it was typed. */
export const siteOf = (address: string) => {
  const { pathname = '', search, hash, username, password, origin = '' } = URL.canParse(address) ? new URL(address) : {}
  return pathname === '/' && ![search, hash, username, password].some(Boolean) ? origin : address
}

/** Whether the host gets the cookies of our sessions. Any other gets a cookie of its own. */
export const getsOurCookies = (origin: string, { publicUrl, cookieDomain }: Omit<Place, 'production'>) => {
  const { hostname } = new URL(origin)
  if (hostname === new URL(publicUrl).hostname) return true
  return cookieDomain !== undefined && (hostname === cookieDomain || hostname.endsWith(`.${cookieDomain}`))
}

const proxyFault = (address: string, place: Place): ProxyFault | undefined => {
  const { production, publicUrl } = place
  const fault = addressFault(address, { kind: 'web', production })
  const isHttp =
    fault === 'not_https' && !production && /^http:\/\/[^/]/.test(address) && getsOurCookies(address, place)
  if (fault && !isHttp) return fault
  if (originOf(address) !== address) return 'not_an_origin'
  return address === originOf(publicUrl) ? 'own_origin' : undefined
}

/** Paths that two programs could read differently are never open. */
export const isPlainPath = (path: string) =>
  /^\/[\x21-\x7e]*$/.test(path) && !/[%\\;?#]|\/\/|\/\.\.?(?:\/|$)/.test(path)

/** The method and the path of an entry of `openPaths`. Without a method it is for GET and HEAD. */
export const readOpenPath = (entry: string) => {
  const [, method, path = entry] = /^([A-Z]+(?:-[A-Z]+)*):(\/.*)$/s.exec(entry) ?? []
  return { methods: method === undefined ? ['GET', 'HEAD'] : [method], path }
}

const isOpenPathEntry = (entry: string) => isPlainPath(readOpenPath(entry).path) && entry.length <= maxLength

export const longestApplicationName = 60

export type NewApplication = Omit<Application, 'id' | 'document' | 'createdAt' | 'setByFile' | 'secretsByFile'>
/**
 * The kind cannot be changed: it decides which addresses are allowed, and whether there is a secret. Without a `home` (null), it is the
 * default for the other addresses.
 */
export type ApplicationChange = Partial<Omit<NewApplication, 'kind' | 'home'>> & { home?: string | null }

export type ApplicationRefusal =
  | Refused<'bad_name'>
  | Refused<'no_redirect_address'>
  | Refused<'pkce_needed'>
  | Refused<'consent_needed'>
  | Refused<'device_flow_needs_native'>
  | Refused<'proxy_needs_web'>
  | Refused<'proxy_missing'>
  | (Refused<'bad_proxy_address'> & { address: string; fault: ProxyFault })
  | (Refused<'bad_open_path'> & { path: string })
  | (Refused<'bad_address'> & { address: string; fault: AddressFault })

/** Where the rules hold: `publicUrl` is our own address, and hosts below `cookieDomain` get our cookies. */
export type Place = { production: boolean; publicUrl: string; cookieDomain: string | undefined }

type Rule = (application: NewApplication, place: Place) => ApplicationRefusal | undefined

/** The scheme of a home behind the proxy is judged with the address of the site. */
const homeFault = ({ kind, home, proxyOrigin }: NewApplication, production: boolean) => {
  const fault = addressFault(home, { kind, production })
  const isBehindProxy = proxyOrigin !== undefined && home.startsWith(`${proxyOrigin}/`)
  return fault === 'not_https' && isBehindProxy ? undefined : fault
}

const addressRule: Rule = (application, { production }) => {
  const { kind, home, redirectAddresses, logoutAddresses, backchannelLogout } = application
  for (const address of [...redirectAddresses, ...logoutAddresses]) {
    const fault = addressFault(address, { kind, production })
    if (fault) return refuse('bad_address', { address, fault })
  }
  const faultOfHome = homeFault(application, production)
  if (faultOfHome) return refuse('bad_address', { address: home, fault: faultOfHome })
  if (backchannelLogout === undefined) return undefined
  const fault = backchannelFault(backchannelLogout, production)
  return fault ? refuse('bad_address', { address: backchannelLogout, fault }) : undefined
}

const rules: readonly Rule[] = [
  ({ name }) => (displayName(name, longestApplicationName) === name ? undefined : refuse('bad_name')),
  ({ redirectAddresses, proxyOrigin }) =>
    redirectAddresses.length > 0 || proxyOrigin !== undefined ? undefined : refuse('no_redirect_address'),
  addressRule,
  // A page or a program on a user's machine has no proxy in front of it.
  ({ kind, proxyOrigin }) => (kind === 'web' || proxyOrigin === undefined ? undefined : refuse('proxy_needs_web')),
  ({ proxyOrigin, openPaths, openPreflight }) =>
    proxyOrigin === undefined && (openPaths.length > 0 || openPreflight) ? refuse('proxy_missing') : undefined,
  ({ proxyOrigin }, place) => {
    const fault = proxyOrigin === undefined ? undefined : proxyFault(proxyOrigin, place)
    return fault && refuse('bad_proxy_address', { address: proxyOrigin ?? '', fault })
  },
  ({ openPaths }) => {
    const path = openPaths.find((each) => !isOpenPathEntry(each))
    return path === undefined ? undefined : refuse('bad_open_path', { path })
  },
  // Without a secret, only the verifier of PKCE shows that a code is used by the program that asked for it.
  ({ kind, pkce }) => (kind === 'web' || pkce ? undefined : refuse('pkce_needed')),
  // Any program on the user's machine can pose as a native application, so its user is always asked.
  ({ kind, consent }) => (kind !== 'native' || consent === 'ask' ? undefined : refuse('consent_needed')),
  ({ kind, deviceFlow }) => (kind === 'native' || !deviceFlow ? undefined : refuse('device_flow_needs_native')),
]

/** Finds the fault of an application, before anything is written. */
export const applicationFault = (application: NewApplication, place: Place) =>
  rules.map((rule) => rule(application, place)).find((refusal) => refusal !== undefined)
