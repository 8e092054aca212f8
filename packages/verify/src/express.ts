import { authByEarlierGuard, setAuth } from './auth-of.js'
import { createGuard, type GuardOptions } from './guard.js'
import type { NodeRequest } from './node.js'
import { carryCookies, type NodeResponse, sendAnswer } from './node-response.js'
import type { Verifier } from './verifier.js'

export { authOf, optionalAuthOf } from './auth-of.js'

type ExpressRequest = NodeRequest & { readonly originalUrl?: string; readonly ip?: string | undefined }

/** `app.use(expressGuard(verifier))`, then `authOf(request)` in a handler. */
export const expressGuard = (verifier: Verifier, options: GuardOptions = {}) => {
  const guard = createGuard(verifier, options)
  return (request: ExpressRequest, response: NodeResponse, next: (error?: unknown) => void) => {
    const { method = 'GET', url = '/', originalUrl: path = url, headers, ip: address } = request
    guard({ method, path, headers, address, earlierAuth: authByEarlierGuard(request, verifier) }).then((decision) => {
      if ('answer' in decision) return sendAnswer(response, decision.answer)
      setAuth(request, verifier, decision.passed)
      carryCookies(response, decision.passed.setCookies)
      return next()
    }, next)
  }
}
