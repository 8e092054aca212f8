import { isTemporary } from './answers.js'
import type { Renewal } from './renewal.js'
import type { Fetch } from './requests.js'

/**
 * `fetch` for the application's own API. If it answers 401, the tokens are renewed once and the request is sent again. A
 * 401 that remains means that the user is signed out. If the service cannot say at the moment, the answer is a 503.
 */
export const createRenewingFetch =
  (fetch: Fetch, { mark, renew }: Renewal): Fetch =>
  async (input, init) => {
    const seen = mark()
    const response = await fetch(input instanceof Request ? input.clone() : input, init)
    if (response.status !== 401) return response
    const renewal = await renew(seen)
    if (!renewal.refused) return init?.body instanceof ReadableStream ? response : fetch(input, init)
    if (!isTemporary(renewal)) return response
    const { refused, retryAfter } = renewal
    return Response.json(
      { code: refused },
      { status: 503, headers: retryAfter ? { 'retry-after': `${retryAfter}` } : {} },
    )
  }
