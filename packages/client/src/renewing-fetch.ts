import { isTemporary } from './answers.js'
import type { Renewal } from './renewal.js'
import type { Fetch } from './requests.js'

/** The `fetch` of `Client`. An application reads 401 as a sign-out, so it must not see 401 while the service cannot answer. */
export const createRenewingFetch =
  (fetch: Fetch, { mark, renew }: Renewal): Fetch =>
  async (input, init) => {
    const markBefore = mark()
    // `instanceof` is not used, because libraries replace the global class.
    const copy = (input as Partial<Request>).clone?.() ?? input
    const response = await fetch(copy, init)
    if (response.status !== 401) return response
    const renewal = await renew(markBefore)
    // A stream can be read only once, so a request with such a body is not sent again.
    if (!renewal.refused) return init?.body instanceof ReadableStream ? response : fetch(input, init)
    if (!isTemporary(renewal)) return response
    const { refused, retryAfter } = renewal
    return Response.json(
      { code: refused },
      { status: 503, headers: retryAfter ? { 'retry-after': `${retryAfter}` } : {} },
    )
  }
