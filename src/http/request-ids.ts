import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import ipaddr from 'ipaddr.js'

export const requestIdHeader = 'x-request-id'

/** Only UUIDs are accepted: events are stored with the id of their request, and any other text would end up in every log. */
const wellFormed = /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/

type Range = ReturnType<typeof ipaddr.parseCIDR>

const parseRange = (text: string): Range => {
  if (text.includes('/')) return ipaddr.parseCIDR(text)
  const address = ipaddr.parse(text)
  return [address, address.kind() === 'ipv4' ? 32 : 128]
}

const isIn = (address: ipaddr.IPv4 | ipaddr.IPv6, [network, bits]: Range) =>
  address.kind() === network.kind() && address.match(network, bits)

/**
 * Chooses the id of a request. If a trusted proxy sends an id, that id is used, so that the lines of its log and of ours belong together.
 * An id from any other sender is ignored: a client could give its requests the ids of other requests.
 */
export const createRequestIds = (trustProxy: readonly string[] = []) => {
  const trusted = trustProxy.map(parseRange)
  const isProxy = (peer = '') => ipaddr.isValid(peer) && trusted.some((range) => isIn(ipaddr.process(peer), range))
  return ({ headers, socket }: Pick<IncomingMessage, 'headers' | 'socket'>) => {
    const sentId = headers[requestIdHeader]
    const isUsable = typeof sentId === 'string' && wellFormed.test(sentId) && isProxy(socket.remoteAddress)
    return isUsable ? sentId : randomUUID()
  }
}
