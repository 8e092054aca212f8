import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { InvalidValue, list, type Read } from './setting-values.js'

type Given = {
  nodeEnv?: unknown
  publicUrl?: unknown
  cookieDomain?: unknown
  allowedOrigins?: unknown
  boundSessions?: unknown
}

const isPlainHttp = (origin: unknown) => typeof origin === 'string' && !origin.startsWith('https:')

const isWithin = (host: string, domain: string) => host === domain || host.endsWith(`.${domain}`)

/** Finds faults in the hosts that are to share a session. */
export const siblingFaults = ({ nodeEnv, publicUrl, cookieDomain, allowedOrigins, boundSessions }: Given) => {
  const host = typeof publicUrl === 'string' ? new URL(publicUrl).hostname : 'localhost'
  const isAboveHost = typeof cookieDomain === 'string' && isWithin(host, cookieDomain)
  const hasPlainOrigin = nodeEnv === 'production' && Array.isArray(allowedOrigins) && allowedOrigins.some(isPlainHttp)
  return [
    ...(cookieDomain === undefined || isAboveHost
      ? []
      : ['COOKIE_DOMAIN: must be the host of PUBLIC_URL, or a domain above it']),
    // A browser refreshes a bound session at the host of PUBLIC_URL only, and would be signed out on the others.
    ...(boundSessions === 'on' && cookieDomain !== undefined
      ? ['BOUND_SESSIONS: must be off with COOKIE_DOMAIN, because a bound session has cookies for one host only']
      : []),
    ...(hasPlainOrigin ? ['ALLOWED_ORIGINS: must begin with https:// in production'] : []),
  ]
}

type Hosts = { publicUrl: string; cookieDomain?: string | undefined; allowedOrigins: readonly string[] }

/**
 * A warning for each allowed site that gets no session cookies. A sign-in may lead back to it, but its pages never see who is
 * signed in.
 */
export const warnOfOriginsWithoutCookies = ({ publicUrl, cookieDomain, allowedOrigins }: Hosts) => {
  const getsCookies = (host: string) =>
    cookieDomain === undefined ? host === new URL(publicUrl).hostname : isWithin(host, cookieDomain)
  const outside = allowedOrigins.filter((origin) => !getsCookies(new URL(origin).hostname))
  const where = cookieDomain === undefined ? 'another host, and COOKIE_DOMAIN is not set' : `outside of ${cookieDomain}`
  return outside.map(
    (origin) =>
      `ALLOWED_ORIGINS: ${origin} is ${where}, so browsers send it no session cookies: nobody is signed in there`,
  )
}

/**
 * A wider range would hold clients of other networks: 10.0.0.0/8 is the largest private range of IPv4, and no operator gets more than
 * a /16 of IPv6. A client that connects from a trusted address can claim any client address, and so avoid every limit.
 */
const minBits = { ipv4: 8, ipv6: 16 }

/** Every IPv4 address can also be written as IPv6, in the range that starts here. */
const mappedIpv4 = ipaddr.IPv6.parse('::ffff:0.0.0.0')
const mappedBits = 96

const isTooWide = (range: string) => {
  const [address, bits] = ipaddr.parseCIDR(range)
  if (address.kind() === 'ipv4') return bits < minBits.ipv4
  const holdsIpv4 =
    mappedIpv4.match(ipaddr.IPv6.parseCIDR(range)) || ipaddr.process(address.toString()).kind() === 'ipv4'
  return bits < (holdsIpv4 ? mappedBits + minBits.ipv4 : minBits.ipv6)
}

const addressRange: Read<string> = (value) => {
  // A short form (`1` is 0.0.0.1) is nearly always meant as a number of proxies, or a mistake.
  const isSpelledOut = isIP(value.split('/')[0] ?? '') !== 0
  const isRange = ipaddr.isValidCIDR(value)
  if (!isSpelledOut || (!isRange && !ipaddr.isValid(value)))
    throw new InvalidValue('must list addresses or ranges such as 10.0.0.0/8, or be none')
  if (isRange && isTooWide(value))
    throw new InvalidValue(
      "must not trust nearly every address: name your proxies' own addresses, or at most a /8 (IPv6: /16)",
    )
  return value
}

/** The proxies whose `X-Forwarded-For` is trusted; an empty list for `none`. */
export const trustedProxies: Read<readonly string[]> = (value) => {
  if (value === 'none') return []
  const proxies = list(addressRange)(value)
  if (proxies.length === 0) throw new InvalidValue('must list addresses or ranges such as 10.0.0.0/8, or be none')
  return proxies
}
