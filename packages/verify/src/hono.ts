import { authByEarlierGuard, setAuth } from './auth-of.js'
import { responseOf } from './fetch-responses.js'
import { createGuard, type GuardOptions } from './guard.js'
import type { Verifier } from './verifier.js'

export { authOf, optionalAuthOf } from './auth-of.js'

type HonoContext = {
  readonly req: { readonly raw: Request }
  header(name: string, value: string, options?: { append?: boolean }): void
}

/** `app.use(honoGuard(verifier))`, then `authOf(context)` in a handler. */
export const honoGuard = (verifier: Verifier, options: GuardOptions = {}) => {
  const guard = createGuard(verifier, options)
  return async (context: HonoContext, next: () => Promise<void>) => {
    const { method, url, headers } = context.req.raw
    const { pathname, search } = new URL(url)
    const decision = await guard({
      method,
      path: pathname + search,
      headers,
      earlierAuth: authByEarlierGuard(context, verifier),
    })
    if ('answer' in decision) return responseOf(decision.answer)
    const { setCookies } = decision.passed
    setAuth(context, verifier, decision.passed)
    await next()
    // The headers are set after the handler, so that it cannot replace them.
    if (setCookies.length > 0) context.header('cache-control', 'private, no-store')
    for (const line of setCookies) context.header('set-cookie', line, { append: true })
    return undefined
  }
}
