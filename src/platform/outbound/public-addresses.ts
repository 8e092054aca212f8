import { type LookupAddress, lookup } from 'node:dns'
import { isIP, type LookupFunction } from 'node:net'
import ipaddr from 'ipaddr.js'

/** How a name is looked up; a test passes its own. */
export type Resolve = (
  hostname: string,
  options: { all: true },
  callback: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

/** The address is in a network that is not public, or names this machine. */
export class PrivateAddress extends Error {
  override name = 'PrivateAddress'
}

const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3')
const nat64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96')
/** Azure answers its virtual machines there. Every other cloud uses addresses that are private by their range. */
const azurePlatform = '168.63.129.16'

/** Whether an address belongs to the public Internet. What is not known to be public counts as private. */
export const isPublicAddress = (text: string): boolean => {
  if (!isIP(text)) return false
  const address = ipaddr.process(text)
  if (address instanceof ipaddr.IPv4) return address.range() === 'unicast' && address.toString() !== azurePlatform
  // A network with NAT64 reaches IPv4 by such an address: what counts is the IPv4 address inside.
  if (address.match(nat64)) return isPublicAddress(ipaddr.fromByteArray(address.toByteArray().slice(-4)).toString())
  return address.match(globalUnicast) && address.range() === 'unicast'
}

/** Each cloud answers its machines at an address of its own. The others are link-local. */
const cloudMetadata = new Set([azurePlatform, '100.100.100.200', 'fd00:ec2::254', 'fd20:ce::254'])
const privateRanges = new Set(['private', 'loopback', 'uniqueLocal', 'carrierGradeNat'])

/** Also private networks and this machine, but never what a cloud tells its machines: it may have credentials in it. */
export const isPublicOrPrivateAddress = (text: string): boolean => {
  if (isPublicAddress(text)) return true
  if (!isIP(text)) return false
  const address = ipaddr.process(text)
  return privateRanges.has(address.range()) && !cloudMetadata.has(address.toString())
}

export const isPublicOrLoopbackAddress = (text: string) =>
  isPublicAddress(text) || (isIP(text) > 0 && ipaddr.process(text).range() === 'loopback')

/** The address in a URL, if its host is one. A connection to it asks no lookup. */
export const addressIn = ({ hostname }: URL) => {
  const bare = hostname.replace(/^\[(.*)\]$/, '$1')
  return isIP(bare) ? bare : undefined
}

/**
 * A lookup for connections that gives only addresses that may be reached. The connection uses exactly what it gives, so a name that
 * changes its address between a check and the connection gains nothing.
 */
export const lookupOf =
  (mayReach: (address: string) => boolean, resolve: Resolve = lookup): LookupFunction =>
  (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, [])
      const usable = addresses.filter(({ address }) => mayReach(address))
      const [first] = usable
      if (!first) return callback(new PrivateAddress('The name has no address that may be reached'), [])
      return options.all ? callback(null, usable) : callback(null, first.address, first.family)
    })
  }
