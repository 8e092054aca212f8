import type { Answer } from './answers.js'
import type { Verified } from './claims.js'
import { createGuard, type GuardOptions } from './guard.js'
import type { Verifier } from './verifier.js'

export const responseOf = ({ status, headers, setCookies, body }: Answer) => {
  const response = new Response(body === '' ? null : body, { status, headers })
  for (const line of setCookies) response.headers.append('set-cookie', line)
  return response
}

const withCookies = (response: Response, setCookies: readonly string[]) => {
  if (setCookies.length === 0) return response
  // The headers of some responses cannot be changed.
  const carrying = new Response(response.body, response)
  carrying.headers.set('cache-control', 'private, no-store')
  for (const line of setCookies) carrying.headers.append('set-cookie', line)
  return carrying
}

/** The headers of the request, with renewed tokens in the place of the old ones. */
const headersWith = (request: Request, setCookies: readonly string[]) => {
  const headers = new Headers(request.headers)
  if (setCookies.length === 0) return headers
  const renewed = setCookies.map((line) => line.split(';')[0] ?? '').filter((pair) => !pair.endsWith('='))
  const others = (headers.get('cookie') ?? '')
    .split(/;\s*/)
    .filter((pair) => !/^(?:(?:access|refresh)_token(?:=.*)?)?$/.test(pair))
  headers.set('cookie', [...others, ...renewed].join('; '))
  return headers
}

export type FetchDecision =
  | {
      readonly goOn: true
      /** Undefined only with `optional`. */
      readonly auth: Verified | undefined
      /** Adds renewed tokens to the response of the application. Every response must go through it. */
      finish(response: Response): Response
      /** Those of the request, with renewed tokens. For a framework that renders in another place and checks the token there. */
      readonly headers: Headers
    }
  | { readonly goOn: false; readonly response: Response }

/** For everything that takes a `Request` and gives a `Response`: Deno, Bun, Next, SvelteKit, Astro and others. */
export const fetchGuard = (verifier: Verifier, options: GuardOptions = {}) => {
  const guard = createGuard(verifier, options)
  return async (request: Request, address?: string): Promise<FetchDecision> => {
    const { method, url, headers } = request
    const { pathname, search } = new URL(url)
    const decision = await guard({ method, path: pathname + search, headers, address })
    if ('answer' in decision) return { goOn: false, response: responseOf(decision.answer) }
    const { auth, setCookies } = decision.passed
    const finish = (response: Response) => withCookies(response, setCookies)
    return { goOn: true, auth, finish, headers: headersWith(request, setCookies) }
  }
}
