import http from 'node:http'
import https from 'node:https'
import type { LookupFunction } from 'node:net'
import { isRefused } from '../../contract/outcome.js'
import { seconds } from '../../lib/durations.js'
import { isLoopback } from '../../lib/networks.js'
import { type BoundedQueue, createBoundedQueue } from '../queues.js'
import { addressIn, createLookup, type Resolve, UnreachableAddress } from './public-addresses.js'

export type OutboundFailure =
  | 'busy'
  | 'connect_timeout'
  | 'encoded'
  | 'forbidden'
  | 'private_address'
  | 'timeout'
  | 'tls'
  | 'too_large'
  | 'unreachable'

/**
 * Contains only the kind of the failure and the host, because a path, a body or the text of the cause may hold a code or a secret.
 */
export class OutboundFailed extends Error {
  override name = 'OutboundFailed'
  readonly code: OutboundFailure

  constructor(code: OutboundFailure, host: string) {
    super(`The request to ${host} failed: ${code}`)
    this.code = code
  }
}

export type OutboundRequest = {
  method?: string
  headers?: Record<string, string>
  body?: ArrayBuffer | null | ReadableStream | string | Uint8Array | URLSearchParams | undefined
  signal?: AbortSignal | undefined
}

type Bounds = {
  connectTimeout: number
  maximumBytes: number
  /**
   * For callers that need only the status. A body that is too long, too slow or breaks off is cut. Without `cutBody`, such a body fails
   * the request.
   */
  cutBody?: boolean
  /**
   * Which IP addresses may be connected to, a lookup that gives no others, and how a request to others fails. Without it, all addresses are
   * allowed.
   */
  network?: { mayReach: (address: string) => boolean; lookup: LookupFunction; failure: OutboundFailure } | undefined
}
type RunningBounds = Bounds & { signal: AbortSignal }

/** Sends a request and resolves to its answer, which is read into memory, or rejects with `OutboundFailed`. */
const exchange = async (url: URL, request: OutboundRequest, bounds: RunningBounds): Promise<Response> => {
  const literalAddress = addressIn(url)
  if (bounds.network && literalAddress !== undefined && !bounds.network.mayReach(literalAddress))
    throw new OutboundFailed(bounds.network.failure, url.host)
  const body = await bytesOf(request.body)
  const answer = await requestOnce(url, request, body, bounds)
  const encoding = answer.headers['content-encoding'] ?? 'identity'
  if (encoding !== 'identity' && !bounds.cutBody) {
    // We asked for no compression, and a small compressed body can become larger than the limit.
    answer.destroy()
    throw new OutboundFailed('encoded', url.host)
  }
  const text = await readBody(url, answer, bounds)
  return toResponse(url, answer, text)
}

const bytesOf = async (body: OutboundRequest['body']) => {
  if (body === undefined || body === null) return undefined
  if (body instanceof Uint8Array) return Buffer.from(body)
  return Buffer.from(await new Response(body).arrayBuffer())
}

const requestOnce = (url: URL, request: OutboundRequest, body: Buffer | undefined, bounds: RunningBounds) =>
  new Promise<http.IncomingMessage>((resolve, reject) => {
    const { request: sendRequest } = url.protocol === 'https:' ? https : http
    const connectEvent = url.protocol === 'https:' ? 'secureConnect' : 'connect'
    const outgoing = sendRequest(url, {
      method: request.method ?? 'GET',
      headers: {
        ...request.headers,
        ...(body && { 'content-length': String(body.length) }),
        ...contentType(request),
        'accept-encoding': 'identity',
      },
      agent: false,
      ...(bounds.network && { lookup: bounds.network.lookup }),
      signal: bounds.signal,
    })
    const connectTimer = setTimeout(() => fail('connect_timeout'), bounds.connectTimeout)
    const fail = (code: OutboundFailure) => {
      clearTimeout(connectTimer)
      reject(new OutboundFailed(code, url.host))
      outgoing.destroy()
    }
    outgoing.on('socket', (socket) => socket.once(connectEvent, () => clearTimeout(connectTimer)))
    outgoing.on('error', (error) => {
      if (error instanceof UnreachableAddress) return fail(bounds.network?.failure ?? 'private_address')
      if (isTlsError(error)) return fail('tls')
      return fail(bounds.signal.aborted ? 'timeout' : 'unreachable')
    })
    outgoing.on('response', (answer) => {
      clearTimeout(connectTimer)
      resolve(answer)
    })
    // After an answer that switches protocols (101) there is neither an error nor a response. After a response this changes nothing.
    outgoing.on('close', () => {
      clearTimeout(connectTimer)
      reject(new OutboundFailed(bounds.signal.aborted ? 'timeout' : 'unreachable', url.host))
    })
    outgoing.end(body)
  })

/** Whether the certificate was not accepted, or the two sides agreed on no protocol. The server itself can be reached. */
const isTlsError = (error: Error) =>
  'code' in error && /^(?:ERR_TLS_|ERR_SSL_|CERT_|EPROTO$|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/.test(String(error.code))

/** The type of a form, as `fetch` would add it. openid-client names the type itself, but other callers may not. */
const contentType = ({ body, headers = {} }: OutboundRequest) => {
  const hasContentType = Object.keys(headers).some((name) => name.toLowerCase() === 'content-type')
  return body instanceof URLSearchParams && !hasContentType
    ? { 'content-type': 'application/x-www-form-urlencoded;charset=UTF-8' }
    : {}
}

/** How long a body that is not used is read. If a short body is read to its end, the other side sees no error. */
const unusedBodyTimeout = 1 * seconds

const readBody = async (url: URL, answer: http.IncomingMessage, { signal, maximumBytes, cutBody }: RunningBounds) => {
  const chunks: Buffer[] = []
  let size = 0
  const cutTimer = cutBody ? setTimeout(() => answer.destroy(), unusedBodyTimeout) : undefined
  try {
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      size += chunk.length
      if (size > maximumBytes && cutBody) break
      if (size > maximumBytes) throw new OutboundFailed('too_large', url.host)
      chunks.push(chunk)
    }
  } catch (error) {
    if (error instanceof OutboundFailed) throw error
    if (cutBody) return Buffer.concat(chunks)
    throw new OutboundFailed(signal.aborted ? 'timeout' : 'unreachable', url.host)
  } finally {
    clearTimeout(cutTimer)
    answer.destroy()
  }
  return Buffer.concat(chunks)
}

const statusesWithoutBody = new Set([204, 205, 304])

const toResponse = (url: URL, answer: http.IncomingMessage, body: Buffer) => {
  const status = answer.statusCode ?? 0
  if (status < 200 || status > 599) throw new OutboundFailed('unreachable', url.host)
  const headers = new Headers()
  for (const [name, values] of Object.entries(answer.headersDistinct))
    for (const value of values ?? []) headers.append(name, value)
  return new Response(statusesWithoutBody.has(status) ? null : new Uint8Array(body), { status, headers })
}

export type Fetch = (url: string, request?: OutboundRequest) => Promise<Response>

export type OutboundOptions = Partial<Bounds> & {
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
