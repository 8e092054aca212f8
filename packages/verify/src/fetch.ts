import type { Verified } from './claims.js'
import { headersWith, responseOf, withCookies } from './fetch-responses.js'
import { createGuard, type GuardOptions } from './guard.js'
import type { Verifier } from './verifier.js'

export { responseOf } from './fetch-responses.js'

/** Both alternatives have all properties, so that `if (!decision.goOn)` compiles without `strict`, too. */
export type FetchDecision =
  | {
      readonly goOn: true
      readonly response?: undefined
      /** Undefined only with `optional`. */
      readonly auth: Verified | undefined
      /** Adds renewed tokens to the response of the application. Every response must go through it. */
      finish(response: Response): Response
      /**
       * The headers of the request, with renewed tokens. A framework whose middleware and pages run apart (such as Next) passes them on, so
       * that the page checks the renewed token and not the old one.
       */
      readonly headers: Headers
    }
  | {
      readonly goOn: false
      readonly response: Response
      readonly auth?: undefined
      readonly finish?: undefined
      readonly headers?: undefined
    }

/** For everything that takes a `Request` and gives a `Response`: Deno, Bun, Next, SvelteKit, Astro and others. */
export const fetchGuard = (verifier: Verifier, options: GuardOptions = {}) => {
  const guard = createGuard(verifier, options)
  /** `address`: the IP address of the client. */
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
