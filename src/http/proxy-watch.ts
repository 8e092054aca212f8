import type { FastifyRequest } from 'fastify'
import ipaddr from 'ipaddr.js'

/** This many requests in a row are no coincidence. */
const enoughRequests = 20

const isPrivate = (ip: string) => ipaddr.isValid(ip) && ipaddr.process(ip).range() !== 'unicast'

/**
 * Warns once if the first 20 requests after the start all come from one private IP address with X-Forwarded-For: then there is a proxy
 * that TRUST_PROXY does not name, and all clients share one limit. With any TRUST_PROXY it does not watch.
 */
export const createProxyWatch = ({ trustsProxy, warn }: { trustsProxy: boolean; warn: (proxy: string) => void }) => {
  let requestCount = 0
  let firstIp: string | undefined
  let isWatching = !trustsProxy

  const watch = (request: FastifyRequest) => {
    // A health probe connects directly, even if users come through a proxy.
    if (!isWatching || request.routeOptions.config.probe) return
    const ip = request.socket.remoteAddress ?? ''
    firstIp ??= ip
    requestCount += 1
    const isProxied = request.headers['x-forwarded-for'] && isPrivate(ip) && ip === firstIp
    if (isProxied && requestCount === enoughRequests) warn(ipaddr.process(ip).toString())
    isWatching = Boolean(isProxied) && requestCount < enoughRequests
  }
  return { watch, isWatching: () => isWatching }
}
