import { isRefused } from '../../contract/outcome.js'
import { seconds } from '../../lib/durations.js'
import { isLoopback } from '../../lib/networks.js'
import { type BoundedQueue, createBoundedQueue } from '../bounded-queue.js'
import { type Bounds, exchange, type OutboundRequest } from './exchange.js'
import { OutboundFailed, type OutboundFailure } from './outbound-failed.js'
import { createLookup, type Resolve } from './public-addresses.js'

export type Fetch = (url: string, request?: OutboundRequest) => Promise<Response>

export type OutboundOptions = Partial<Pick<Bounds, 'connectTimeout' | 'maximumBytes' | 'cutBody'>> & {
  totalTimeout?: number
  /** How many requests to one host run at once. Four times as many may wait. */
  concurrency?: number
  /** Allows plain HTTP to this machine, for development. */
  allowLoopbackHttp?: boolean
  /** Allows plain HTTP to any machine. */
  allowPlainHttp?: boolean
  /** Says which IP addresses may be connected to, for example to exclude private networks and this machine. */
  mayReach?: ((address: string) => boolean) | undefined
  /** How a request fails whose host has only addresses that may not be connected to. */
  unreachableAs?: OutboundFailure
  resolve?: Resolve
}

export type Outbound = ReturnType<typeof createOutbound>

/**
 * Sends outgoing HTTP requests. They follow no redirect, use no proxy, read a limited body and have a timeout. Each request has a new
 * connection, because a kept connection may be broken, and a code can be exchanged only once.
 */
export const createOutbound = (options: OutboundOptions = {}) => {
  const { connectTimeout = 3 * seconds, totalTimeout = 10 * seconds, maximumBytes = 256 * 1024 } = options
  const { concurrency = 32, allowLoopbackHttp = false, allowPlainHttp = false, cutBody = false } = options
  const { mayReach, unreachableAs = 'private_address', resolve } = options
  const network = mayReach && { mayReach, lookup: createLookup(mayReach, resolve), failure: unreachableAs }
  const bounds = { connectTimeout, maximumBytes, cutBody, network }
  const queues = new Map<string, BoundedQueue>()

  /** Each host has its own queue, so that requests to a host that hangs delay no request to another host. */
  const queueOf = (host: string) => {
    const queue = queues.get(host) ?? createBoundedQueue({ maxRunning: concurrency, maxWaiting: concurrency * 4 })
    queues.set(host, queue)
    return queue
  }

  const send = async (address: string, request: OutboundRequest, deadline: AbortSignal) => {
    const url = permittedUrl(address, { allowLoopbackHttp, allowPlainHttp })
    const signal = request.signal ? AbortSignal.any([request.signal, deadline]) : deadline
    const queue = queueOf(url.host)
    try {
      const answer = await queue.run(() => exchange(url, request, { ...bounds, signal }), signal)
      if (isRefused(answer)) throw new OutboundFailed(signal.aborted ? 'timeout' : 'busy', url.host)
      return answer
    } finally {
      if (queue.isIdle()) queues.delete(url.host)
    }
  }

  /** Returns a function for several requests, which share one deadline from now on. */
  const withDeadline = (): Fetch => {
    const deadline = AbortSignal.timeout(totalTimeout)
    return (url, request = {}) => send(url, request, deadline)
  }

  return { withDeadline }
}

type HttpPermissions = { allowLoopbackHttp: boolean; allowPlainHttp: boolean }

const permittedUrl = (address: string, { allowLoopbackHttp, allowPlainHttp }: HttpPermissions) => {
  if (!URL.canParse(address)) throw new OutboundFailed('forbidden', 'an unreadable address')
  const url = new URL(address)
  const isAllowedHttp = url.protocol === 'http:' && (allowPlainHttp || (allowLoopbackHttp && isLoopback(url.hostname)))
  if (url.protocol !== 'https:' && !isAllowedHttp) throw new OutboundFailed('forbidden', url.host)
  return url
}
