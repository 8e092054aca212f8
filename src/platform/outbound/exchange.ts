import http from 'node:http'
import https from 'node:https'
import type { LookupFunction } from 'node:net'
import { seconds } from '../../lib/durations.js'
import { OutboundFailed, type OutboundFailure } from './outbound-failed.js'
import { addressIn, UnreachableAddress } from './public-addresses.js'

export type OutboundRequest = {
  method?: string
  headers?: Record<string, string>
  body?: ArrayBuffer | null | ReadableStream | string | Uint8Array | URLSearchParams | undefined
  signal?: AbortSignal | undefined
}

export type Bounds = {
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
export const exchange = async (url: URL, request: OutboundRequest, bounds: RunningBounds): Promise<Response> => {
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
