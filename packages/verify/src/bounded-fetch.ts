import { isObject } from './token-text.js'

export type Fetch = typeof globalThis.fetch

type Limits = { milliseconds: number; maxBytes: number }

/** The whole body as text. A body over the limit is an error, and the rest of it is not read. */
export const readText = async ({ body }: Pick<Response, 'body'>, maxBytes: number) => {
  if (body === null) return ''
  const reader = body.getReader()
  const decoder = new TextDecoder()
  let text = ''
  let bytes = 0
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return text + decoder.decode()
    bytes += value.byteLength
    if (bytes > maxBytes) {
      await reader.cancel()
      throw new Error(`The answer has more than ${maxBytes} bytes`)
    }
    text += decoder.decode(value, { stream: true })
  }
}

/** A signal that aborts as soon as one of these does. `AbortSignal.any` would do, but the edge runtime of Next 15 does not have it. */
const firstOf = (signals: readonly AbortSignal[]) => {
  const controller = new AbortController()
  const abort = () => controller.abort(signals.find(({ aborted }) => aborted)?.reason)
  for (const each of signals) each.addEventListener('abort', abort)
  if (signals.some(({ aborted }) => aborted)) abort()
  /** Removes the listeners: a signal that lasts as long as the program would otherwise keep every request in memory. */
  const release = () => {
    for (const each of signals) each.removeEventListener('abort', abort)
  }
  return { signal: controller.signal, release }
}

/**
 * A request with a limit for its time and for the size of its answer. With a body it is a POST. A redirect is not followed: it would
 * carry cookies or a service key to another address.
 */
export const createBoundedFetch =
  (fetch: Fetch, { milliseconds, maxBytes }: Limits) =>
  async (url: string, headers: Record<string, string>, stop?: AbortSignal, body?: string) => {
    const timeout = AbortSignal.timeout(milliseconds)
    const { signal, release } = firstOf(stop ? [stop, timeout] : [timeout])
    try {
      const init = { headers, redirect: 'manual', signal } as const
      const response = await fetch(url, body === undefined ? init : { ...init, method: 'POST', body })
      const text = await readText(response, maxBytes)
      return { status: response.status, headers: response.headers, text }
    } finally {
      release()
    }
  }

const addressShape = /^[\da-f.:]{2,45}$/i

/** The client of a request. The service believes the IP address if `TRUST_PROXY` names this program. */
export type ClientOfRequest = { userAgent: string | undefined; address: string | undefined }

/** The headers that tell the service about the client of a request. */
export const clientHeaders = ({ userAgent, address }: ClientOfRequest): Record<string, string> => ({
  ...(userAgent === undefined ? {} : { 'user-agent': userAgent }),
  ...(address !== undefined && addressShape.test(address) ? { 'x-forwarded-for': address } : {}),
})

/** `fetch` says only that it failed. The reason, such as ECONNREFUSED or a wrong protocol, is in the cause. */
export const reasonOf = (error: unknown) => {
  if (!(error instanceof Error)) return 'unknown'
  const { code, message } = isObject(error.cause) ? error.cause : {}
  const cause = code ?? message
  return typeof cause === 'string' && cause !== '' ? `${error.message} (${cause})` : error.message
}
