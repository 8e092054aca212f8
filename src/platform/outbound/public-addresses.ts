import { type LookupAddress, lookup } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import ipaddr from 'ipaddr.js'

/** Looks up a host name. A test passes its own function. */
export type Resolve = (
  hostname: string,
  options: { all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

/** The name has only addresses that may not be connected to. */
export class UnreachableAddress extends Error {
  override name = 'UnreachableAddress'
}

const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3')
const nat64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96')
/** At this address Azure answers its virtual machines. Every other cloud uses addresses that are private by their range. */
const azurePlatform = '168.63.129.16'

/** Whether an address belongs to the public Internet. An address that is not known to be public counts as private. */
export const isPublicAddress = (text: string): boolean => {
  if (!isIP(text)) return false
  const address = ipaddr.process(text)
  if (address instanceof ipaddr.IPv4) return address.range() === 'unicast' && address.toString() !== azurePlatform
  // A network with NAT64 reaches IPv4 by such an address, so the IPv4 address inside decides.
  if (address.match(nat64)) return isPublicAddress(ipaddr.fromByteArray(address.toByteArray().slice(-4)).toString())
  return address.match(globalUnicast) && address.range() === 'unicast'
}

/** Addresses at which clouds answer their machines. The other clouds use link-local addresses, which `privateRanges` does not have. */
const cloudMetadata = new Set([azurePlatform, '100.100.100.200', 'fd00:ec2::254', 'fd00:ec2::23', 'fd20:ce::254'])
const privateRanges = new Set(['private', 'loopback', 'uniqueLocal', 'carrierGradeNat'])

/**
 * Like `isPublicAddress`, but also true for private networks and this machine. The metadata addresses of clouds stay excluded:
 * they may give out credentials.
 */
export const isPublicOrPrivateAddress = (text: string): boolean => {
  if (isPublicAddress(text)) return true
  if (!isIP(text)) return false
  const address = ipaddr.process(text)
  return privateRanges.has(address.range()) && !cloudMetadata.has(address.toString())
}

export const isPrivateAddress = (text: string) => isPublicOrPrivateAddress(text) && !isPublicAddress(text)

export const isPublicOrLoopbackAddress = (text: string) =>
  isPublicAddress(text) || (isIP(text) > 0 && ipaddr.process(text).range() === 'loopback')

/** The IP address in a URL, if its host is one. A connection to it makes no lookup, so it must be checked itself. */
export const addressIn = ({ hostname }: URL) => {
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  return isIP(host) ? host : undefined
}

/**
 * A lookup for connections that gives only addresses that may be reached. The connection uses exactly these addresses, so a name that
 * changes its address after a check gains nothing.
 */
export const createLookup =
  (mayReach: (address: string) => boolean, resolve: Resolve = lookup): LookupFunction =>
  (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, [])
      const reachable = addresses.filter(({ address }) => mayReach(address))
      const [first] = reachable
      if (!first) return callback(new UnreachableAddress('The name has no address that may be reached'), [])
      return options.all ? callback(null, reachable) : callback(null, first.address, first.family)
    })
  }
