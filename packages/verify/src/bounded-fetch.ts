export type Fetch = typeof globalThis.fetch

type Limits = { milliseconds: number; maxBytes: number }

/** The whole body as text. A longer one is an error: the rest of it is not read. */
const readText = async ({ body }: Response, maxBytes: number) => {
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

/**
 * A request with a limit for its time and for the size of its answer. A redirect is not followed: it would carry cookies or a
 * service key to another address.
 */
export const createBoundedFetch =
  (fetch: Fetch, { milliseconds, maxBytes }: Limits) =>
  async (url: string, headers: Record<string, string>, signal?: AbortSignal, body?: string) => {
    const timeout = AbortSignal.timeout(milliseconds)
    const response = await fetch(url, {
      headers,
      ...(body !== undefined && { method: 'POST', body }),
      redirect: 'manual',
      signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
    })
    const text = await readText(response, maxBytes)
    return { status: response.status, headers: response.headers, text }
  }
