import type { FastifyRequest } from 'fastify'
import ipaddr from 'ipaddr.js'
import type { Client } from '../domain/sessions/client.js'

const userAgentLimit = 256

/** An address in its one canonical spelling: IPv4 inside IPv6 is IPv4. What is no address counts as the connection's own. */
const canonicalAddress = (request: FastifyRequest) => {
  const address = ipaddr.isValid(request.ip) ? request.ip : (request.socket.remoteAddress ?? '')
  return ipaddr.isValid(address) ? ipaddr.process(address) : undefined
}

export const clientOf = (request: FastifyRequest): Client => ({
  ip: canonicalAddress(request)?.toString() ?? 'unknown',
  userAgent: (request.headers['user-agent'] ?? '').slice(0, userAgentLimit),
  requestId: request.id,
})

/** What limits count by: an IPv4 address, or an IPv6 /64, which is what one customer is given. */
export const networkOf = (request: FastifyRequest) => {
  const address = canonicalAddress(request)
  if (!address) return 'unknown'
  if (address.kind() === 'ipv4') return address.toString()
  const bytes = address.toByteArray().fill(0, 8)
  return `${ipaddr.fromByteArray(bytes).toString()}/64`
}

/**
 * Warns once when every request seems to come through a proxy that we were not told to trust: all limits would then
 * count the whole world as one client.
 */
export const createProxyWatch = ({ trustsProxy, warn }: { trustsProxy: boolean; warn: () => void }) => {
  let seen = 0
  let only: string | undefined
  let isDone = trustsProxy
  return (request: FastifyRequest) => {
    // A health probe comes to the instance itself, and says nothing about how people come.
    if (isDone || request.routeOptions.config.probe) return
    const address = request.socket.remoteAddress ?? ''
    const isPrivate = ipaddr.isValid(address) && ipaddr.process(address).range() !== 'unicast'
    isDone = !request.headers['x-forwarded-for'] || !isPrivate || (only !== undefined && only !== address)
    only = address
    seen += 1
    if (!isDone && seen === 20) {
      isDone = true
      warn()
    }
  }
}
