import { isIP, isIPv4 } from 'node:net'
import type { FastifyRequest } from 'fastify'
import ipaddr from 'ipaddr.js'
import type { AdminRole } from '../contract/admin/admin-bodies.js'
import { type Language, languageFrom } from '../contract/languages.js'
import { customerNetworkOf, networkOfBits, siteNetworkOf } from '../lib/networks.js'

const maxUserAgentLength = 256

/** Some proxies append the port of the client to its IP address: `192.0.2.1:5000`, `[2001:db8::1]:5000`. */
const withoutPort = (address: string) => {
  const [, ipv4, ipv6] = /^(?:([\d.]+):\d+|\[([\da-f:.]+)\](?::\d+)?)$/i.exec(address) ?? []
  return ipv4 ?? ipv6 ?? address
}

/** IPv4 inside IPv6 counts as IPv4, also behind a translator (`64:ff9b::192.0.2.1`, RFC 6052). */
const canonical = (text: string) => {
  const address = ipaddr.process(text)
  return address.kind() === 'ipv6' && address.range() === 'rfc6052'
    ? ipaddr.fromByteArray(address.toByteArray().slice(-4))
    : address
}

/** The canonical form of a written IP address; undefined if it is none. */
export const readAddress = (text: string) => {
  const address = withoutPort(text)
  return ipaddr.isValid(address) ? canonical(address).toString() : undefined
}

/** A network in the notation of CIDR, such as 192.0.2.0/24; undefined if it is none. */
export const readRange = (text: string) => {
  const [address = '', bits = '', ...rest] = text.split('/')
  if (!/^\d{1,3}$/.test(bits) || rest.length > 0 || isIP(address) === 0) return undefined
  const maxBits = isIP(address) === 4 ? 32 : 128
  return Number(bits) <= maxBits ? `${address}/${Number(bits)}` : undefined
}

/** The client's IP address in its canonical form. If the address that a proxy names is invalid, the address of the socket counts. */
const canonicalAddress = (request: FastifyRequest) => {
  const forwarded = withoutPort(request.ip)
  const address = ipaddr.isValid(forwarded) ? forwarded : (request.socket.remoteAddress ?? '')
  return ipaddr.isValid(address) ? canonical(address) : undefined
}

const ipOf = (request: FastifyRequest) => {
  const { ip } = request
  // Four numbers have one spelling only, so the usual address needs no reading.
  return isIPv4(ip) ? ip : (canonicalAddress(request)?.toString() ?? 'unknown')
}

/** The language of pages for this client, and of mails to it. */
export const languageOf = (request: FastifyRequest) => languageFrom(request.headers['accept-language'])

export const clientOf = (request: FastifyRequest): Client => ({
  ip: ipOf(request),
  userAgent: (request.headers['user-agent'] ?? '').slice(0, maxUserAgentLength),
  requestId: request.id,
  language: languageOf(request),
})

/** Most limits count by this network of the client: an IPv4 address, or an IPv6 /64. */
export const clientNetwork = (request: FastifyRequest) => {
  const address = canonicalAddress(request)
  return address ? networkOfBits(address, 64) : 'unknown'
}

/** The whole network of one customer of an internet provider. Some limits count by it, because a home has many IPv6 networks. */
export const customerNetwork = (request: FastifyRequest) => customerNetworkOf(ipOf(request))

/** The network of an organisation. Shares of what belongs to everybody count by it, because it has very many of the networks above. */
export const siteNetwork = (request: FastifyRequest) => siteNetworkOf(ipOf(request))

/** The network by which limits count, for a written IP address or /64; undefined if the text is neither. */
export const networkOf = (text: string) => {
  const address = readAddress(text.replace(/\/64$/, ''))
  return address === undefined ? undefined : networkOfBits(ipaddr.process(address), 64)
}

/**
 * An administrator who changes something of others, or a program with a service key. The event of the change names the actor and the
 * reason. The change is rolled back unless the administrator is still in one of `groups`. An actor cannot change accounts in
 * `protectedGroups`; `all` are those of administrators and of support.
 */
export type Actor = { protectedGroups: readonly string[] | 'all'; reason?: string | undefined } & (
  | { userId: string; sessionId: string; role: AdminRole; groups: readonly string[]; serviceKey?: undefined }
  | { serviceKey: string; userId?: undefined; role?: undefined }
)

/** A configuration file by the last part of its path, which owns what the file names, and the beginning of its SHA-256. */
export type ConfigurationFileName = { name: string; checksum: string }

/**
 * The client of a request, in the form that records, events and mails keep. `typedName` is the name in the sign-in form. It may be a
 * password by mistake, so it is never stored or logged as it is. `language` is that of the browser, while mails about an account are in the
 * language of the account. `browser` is what all sessions of one known browser have in common. `actor` is set for what an administrator or
 * a program with a key does.
 */
export type RequestOrigin = {
  ip: string
  userAgent: string
  requestId?: string
  typedName?: string
  language?: Language
  browser?: string | undefined
  actor?: Actor
  /** The configuration file that is applied. */
  file?: ConfigurationFileName
}

/** The same, where no OAuth client could be meant. */
export type Client = RequestOrigin

/** The value of `ip` for what an operator does at the command line. */
export const commandLineIp = 'command line'

/** The value of `ip` for what CONFIGURATION_FILE changes at the start and on SIGHUP. */
export const configurationFileIp = 'configuration file'

/** The client of an operator: no address, and the name of their account on the machine in place of a device. */
export const operatorClient = (name: string): Client => ({ ip: commandLineIp, userAgent: name })

/**
 * True for clients that users know as administrators: an operator at the command line or with a configuration file, an administrator in a
 * browser, or a program with a key.
 */
export const isAdministrator = ({ ip, actor }: Client) =>
  ip === commandLineIp || ip === configurationFileIp || actor !== undefined
