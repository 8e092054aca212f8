import { authByEarlierGuard, setAuth } from './auth-of.js'
import { createGuard, type GuardOptions } from './guard.js'
import type { NodeRequest } from './node.js'
import { carryCookies, type NodeResponse } from './node-response.js'
import type { Verifier } from './verifier.js'

export { authOf, optionalAuthOf } from './auth-of.js'

type KoaContext = {
  readonly method: string
  readonly originalUrl: string
  readonly headers: NodeRequest['headers']
  readonly ip: string
  readonly res: NodeResponse
  status: number
  body: unknown
  set(name: string, value: string | string[]): unknown
}

/** `app.use(koaGuard(verifier))`, then `authOf(context)` in a handler. */
export const koaGuard = (verifier: Verifier, options: GuardOptions = {}) => {
  const guard = createGuard(verifier, options)
  return async (context: KoaContext, next: () => Promise<unknown>) => {
    const { method, originalUrl: path, headers, ip: address } = context
    const decision = await guard({ method, path, headers, address, earlierAuth: authByEarlierGuard(context, verifier) })
    if ('answer' in decision) {
      const { status, headers: answerHeaders, setCookies, body } = decision.answer
      context.status = status
      context.body = body
      for (const [name, value] of Object.entries(answerHeaders)) context.set(name, value)
      if (setCookies.length > 0) context.set('set-cookie', [...setCookies])
      return
    }
    setAuth(context, verifier, decision.passed)
    carryCookies(context.res, decision.passed.setCookies)
    await next()
  }
}
