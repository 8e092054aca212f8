import { isIP } from 'node:net'
import ipaddr from 'ipaddr.js'
import { InvalidValue, list, type Read } from './setting-values.js'

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
