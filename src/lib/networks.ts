import ipaddr from 'ipaddr.js'

/** An IPv4 address as it is, or the IPv6 network of `bits` bits in which the address is. */
export const networkOfBits = (address: ipaddr.IPv4 | ipaddr.IPv6, bits: 48 | 56 | 64) =>
  address.kind() === 'ipv4'
    ? address.toString()
    : `${ipaddr.fromByteArray(address.toByteArray().fill(0, bits / 8)).toString()}/${bits}`

/**
 * All that one customer of a network provider has: an IPv4 address, or an IPv6 /56, which a home can divide into 256 networks of 64 bits.
 * Limits that count by customer cannot be evaded with many networks. A text that is no IP address, such as `command line`, stays as it
 * is.
 */
export const customerNetworkOf = (ip: string) => (ipaddr.isValid(ip) ? networkOfBits(ipaddr.process(ip), 56) : ip)

/** All that an organisation or a rented server has: an IPv4 address, or an IPv6 /48, which is 256 networks of customers. */
export const siteNetworkOf = (ip: string) => (ipaddr.isValid(ip) ? networkOfBits(ipaddr.process(ip), 48) : ip)

/** Whether a host is this machine itself: `localhost`, 127.0.0.0/8 or ::1, which a URL writes in brackets. */
export const isLoopback = (host: string) => /^(?:localhost|127(?:\.\d{1,3}){3}|::1|\[::1\])$/.test(host)

/** Whether the host of a server is this machine. A name below `localhost` and the folder of a socket are this machine, too. */
export const isThisMachine = (host: string) => isLoopback(host) || host.endsWith('.localhost') || host.startsWith('/')
