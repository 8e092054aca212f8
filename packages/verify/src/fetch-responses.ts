import type { Answer } from './answers.js'

export const responseOf = ({ status, headers, setCookies, body }: Answer) => {
  const response = new Response(body === '' ? null : body, { status, headers })
  for (const line of setCookies) response.headers.append('set-cookie', line)
  return response
}

/** Keeps a response out of caches. */
export const uncached = (response: Response) => {
  // The headers of some responses cannot be changed.
  const copy = new Response(response.body, response)
  copy.headers.set('cache-control', 'private, no-store')
  for (const name of ['cdn-cache-control', 'surrogate-control']) copy.headers.delete(name)
  return copy
}

export const withCookies = (response: Response, setCookies: readonly string[]) => {
  if (setCookies.length === 0) return response
  const copy = uncached(response)
  for (const line of setCookies) copy.headers.append('set-cookie', line)
  return copy
}

const isSessionCookie = (pair: string) => /^(?:access|refresh)_token(?:=|$)/.test(pair)

/** The headers of the request, with these tokens in the place of its own. */
const withTokens = (request: Request, tokens: readonly string[]) => {
  const headers = new Headers(request.headers)
  const pairs = (headers.get('cookie') ?? '').split(/;\s*/).filter((pair) => pair !== '' && !isSessionCookie(pair))
  const cookie = [...pairs, ...tokens].join('; ')
  if (cookie === '') headers.delete('cookie')
  else headers.set('cookie', cookie)
  return headers
}

/** The headers of the request, with renewed tokens in the place of the old ones. */
export const headersWith = (request: Request, setCookies: readonly string[]) => {
  const tokens = setCookies.map((line) => line.split(';')[0] ?? '').filter(isSessionCookie)
  if (tokens.length === 0) return new Headers(request.headers)
  // A token that is cleared has no value.
  return withTokens(
    request,
    tokens.filter((pair) => !pair.endsWith('=')),
  )
}

/** The headers of a request that has no user, so that invalid tokens are not checked again. */
export const headersWithoutTokens = (request: Request) => withTokens(request, [])
