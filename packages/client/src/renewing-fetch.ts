import { isTemporary } from './answers.js'
import type { Renewal } from './renewal.js'
import type { Fetch } from './requests.js'

/**
 * The `fetch` of `Client`: after a 401 it renews the tokens and sends the request once more. An application reads 401 as a sign-out, so it
 * gets 503 instead while Latchkey cannot renew the tokens for the moment.
 */
export const createRenewingFetch =
  (fetch: Fetch, { mark, renew }: Renewal): Fetch =>
  async (input, init) => {
    const markBefore = mark()
    // Not `input instanceof Request`: libraries replace the global `Request`.
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
