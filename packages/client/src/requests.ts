import { type Answer, answerOf } from './answers.js'

export type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'
export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>

/** Requests to the service, with its cookies. Paths are below `/api/auth/`. */
export const createRequests = (baseUrl: string, fetch: Fetch) => {
  const csrfTokens: Record<string, string | undefined> = {}

  const send = <Value>(
    method: Method,
    path: string,
    body?: object,
    token?: string,
    headers?: object,
  ): Promise<Answer<Value>> =>
    answerOf(() =>
      fetch(`${baseUrl}/api/auth/${path}`, {
        method,
        credentials: 'include',
        headers: {
          ...(body && { 'content-type': 'application/json' }),
          ...(token && { 'x-csrf-token': token }),
          ...headers,
        },
        // `JSON.stringify` gives undefined if there is no body.
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(20_000),
      }),
    )

  const sendWithKnownToken = async <Value>(
    method: Method,
    path: string,
    body: object | undefined,
    tokenQuery: string,
    headers?: object,
  ): Promise<Answer<Value>> => {
    if (!csrfTokens[tokenQuery]) {
      const tokenAnswer = await send<{ csrfToken: string }>('GET', `csrf-token${tokenQuery}`)
      if (tokenAnswer.refused) return tokenAnswer
      csrfTokens[tokenQuery] = tokenAnswer.value.csrfToken
    }
    return send<Value>(method, path, body, csrfTokens[tokenQuery], headers)
  }

  /**
   * A request that changes something for a signed-in user carries a token that other sites cannot read. `tokenQuery` asks for a
   * token that is bound to something else than the session.
   */
  const sendWithCsrfToken = async <Value>(
    method: Method,
    path: string,
    body?: object,
    tokenQuery = '',
    headers?: object,
  ): Promise<Answer<Value>> => {
    const first = await sendWithKnownToken<Value>(method, path, body, tokenQuery, headers)
    if (first.refused !== 'invalid_csrf_token') return first
    // The secret of the token has changed, perhaps in another tab. Get a new token and try once more.
    csrfTokens[tokenQuery] = undefined
    return sendWithKnownToken<Value>(method, path, body, tokenQuery, headers)
  }

  return { send, sendWithCsrfToken }
}

export type Requests = ReturnType<typeof createRequests>
