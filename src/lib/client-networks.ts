import ipaddr from 'ipaddr.js'

/** An IPv4 address, or the IPv6 network of so many bits. */
export const networkWith = (address: ipaddr.IPv4 | ipaddr.IPv6, bits: 48 | 56 | 64) =>
  address.kind() === 'ipv4'
    ? address.toString()
    : `${ipaddr.fromByteArray(address.toByteArray().fill(0, bits / 8)).toString()}/${bits}`

/**
 * What one customer of a provider has: an IPv4 address, or an IPv6 /56, of which a home gets 256 networks of 64 bits. For shares and
 * ceilings that many networks of one customer must not get around. What is no address, such as that of a command, is itself.
 */
export const connectionOf = (ip: string) => (ipaddr.isValid(ip) ? networkWith(ipaddr.process(ip), 56) : ip)

/** What an organisation has, or a server that is rented by the hour: an IPv4 address, or an IPv6 /48, of 256 connections. */
export const siteOf = (ip: string) => (ipaddr.isValid(ip) ? networkWith(ipaddr.process(ip), 48) : ip)
