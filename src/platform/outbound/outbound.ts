import { seconds } from '../../lib/durations.js'
import { exchange, type OutboundRequest } from './exchange.js'
import { OutboundFailed } from './outbound-failed.js'
import { createPlaces, type Places } from './places.js'

export type Fetch = (url: string, request?: OutboundRequest) => Promise<Response>

export type OutboundOptions = {
  connectTimeout?: number
  totalTimeout?: number
  maximumBytes?: number
  /** How many requests one host is asked at once, and how many more may wait for it. */
  concurrency?: number
  /** Plain http to this very machine, for development. Plain http to anywhere else is never spoken. */
  allowLoopbackHttp?: boolean
}

export type Outbound = ReturnType<typeof createOutbound>

/**
 * The one way out of the house. It follows no redirect, uses no proxy, reads a bounded body and gives up in time.
 * A fresh connection for each request: a kept one may be half dead, and a code is exchanged only once.
 */
export const createOutbound = (options: OutboundOptions = {}) => {
  const { connectTimeout = 3 * seconds, totalTimeout = 10 * seconds, maximumBytes = 256 * 1024 } = options
  const { concurrency = 32, allowLoopbackHttp = false } = options
  const hosts = new Map<string, Places>()

  const placesOf = (host: string) => {
    const known = hosts.get(host) ?? createPlaces({ places: concurrency, waiting: concurrency * 4 })
    hosts.set(host, known)
    return known
  }

  const send = async (address: string, request: OutboundRequest, deadline: AbortSignal) => {
    const url = permitted(address, allowLoopbackHttp)
    const signal = request.signal ? AbortSignal.any([request.signal, deadline]) : deadline
    const places = placesOf(url.host)
    const release = await places.take(signal)
    if (!release) throw new OutboundFailed(signal.aborted ? 'timeout' : 'busy', url.host)
    try {
      return await exchange(url, request, { signal, connectTimeout, maximumBytes })
    } finally {
      release()
      if (places.idle()) hosts.delete(url.host)
    }
  }

  /** Several requests that serve one purpose and share one deadline, however many of them there are. */
  const withDeadline = (): Fetch => {
    const deadline = AbortSignal.timeout(totalTimeout)
    return (url, request = {}) => send(url, request, deadline)
  }

  return { withDeadline }
}

export const isLoopback = (hostname: string) =>
  hostname === 'localhost' || hostname === '[::1]' || /^127(?:\.\d{1,3}){3}$/.test(hostname)

const permitted = (address: string, allowLoopbackHttp: boolean) => {
  if (!URL.canParse(address)) throw new OutboundFailed('forbidden', 'an unreadable address')
  const url = new URL(address)
  const plain = url.protocol === 'http:' && allowLoopbackHttp && isLoopback(url.hostname)
  if (url.protocol !== 'https:' && !plain) throw new OutboundFailed('forbidden', url.host)
  return url
}
