import { seconds } from '../../lib/durations.js'
import { isLoopback } from '../../lib/loopback.js'
import { type BoundedQueue, createBoundedQueue } from '../bounded-queue.js'
import { exchange, type OutboundRequest } from './exchange.js'
import { OutboundFailed } from './outbound-failed.js'

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
  const queues = new Map<string, BoundedQueue>()

  /** Each host has its own, so that requests to a host that hangs delay no request to another. */
  const queueOf = (host: string) => {
    const known = queues.get(host) ?? createBoundedQueue({ atOnce: concurrency, waiting: concurrency * 4 })
    queues.set(host, known)
    return known
  }

  const send = async (address: string, request: OutboundRequest, deadline: AbortSignal) => {
    const url = permitted(address, allowLoopbackHttp)
    const signal = request.signal ? AbortSignal.any([request.signal, deadline]) : deadline
    const queue = queueOf(url.host)
    try {
      const answer = await queue.run(() => exchange(url, request, { signal, connectTimeout, maximumBytes }), signal)
      if ('refused' in answer) throw new OutboundFailed(signal.aborted ? 'timeout' : 'busy', url.host)
      return answer
    } finally {
      if (queue.isIdle()) queues.delete(url.host)
    }
  }

  /** Several requests that serve one purpose and share one deadline, however many of them there are. */
  const withDeadline = (): Fetch => {
    const deadline = AbortSignal.timeout(totalTimeout)
    return (url, request = {}) => send(url, request, deadline)
  }

  return { withDeadline }
}

const permitted = (address: string, allowLoopbackHttp: boolean) => {
  if (!URL.canParse(address)) throw new OutboundFailed('forbidden', 'an unreadable address')
  const url = new URL(address)
  const plain = url.protocol === 'http:' && allowLoopbackHttp && isLoopback(url.hostname)
  if (url.protocol !== 'https:' && !plain) throw new OutboundFailed('forbidden', url.host)
  return url
}
