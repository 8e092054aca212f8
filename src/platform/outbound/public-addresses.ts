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

/** The address in a URL, if its host is one. A connection to it asks no lookup. */
export const addressIn = ({ hostname }: URL) => {
  const bare = hostname.replace(/^\[(.*)\]$/, '$1')
  return isIP(bare) ? bare : undefined
}

/**
 * A lookup for connections that gives only public addresses. The connection uses exactly what it gives, so a name that
 * changes its address between a check and the connection gains nothing.
 */
export const publicLookup =
  (resolve: Resolve = lookup): LookupFunction =>
  (hostname, options, callback) => {
    resolve(hostname, { ...options, all: true }, (error, addresses) => {
      if (error) return callback(error, [])
      const usable = addresses.filter(({ address }) => isPublicAddress(address))
      const [first] = usable
      if (!first) return callback(new PrivateAddress('The name has no public address'), [])
      return options.all ? callback(null, usable) : callback(null, first.address, first.family)
    })
  }
