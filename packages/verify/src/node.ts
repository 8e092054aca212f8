import { authByEarlierGuard, setAuth } from './auth-of.js'
import type { Verified } from './claims.js'
import { createGuard, type GuardOptions } from './guard.js'
import { carryCookies, type NodeResponse, sendAnswer } from './node-response.js'
import type { Verifier } from './verifier.js'

export type NodeRequest = {
  readonly method?: string | undefined
  readonly url?: string | undefined
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly socket?: { readonly remoteAddress?: string | undefined } | null
}

/** The decision for a handler: whether to go on, and the user. The user is undefined only with `optional`. */
export type NodeDecision =
  | { readonly goOn: true; readonly auth: Verified | undefined }
  | { readonly goOn: false; readonly auth?: undefined }

/** For node:http and node:https. If `goOn` is false, the guard has answered. */
export const nodeGuard = (verifier: Verifier, options: GuardOptions = {}) => {
  const guard = createGuard(verifier, options)
  return async (request: NodeRequest, response: NodeResponse): Promise<NodeDecision> => {
    const { method = 'GET', url: path = '/', headers, socket } = request
    const decision = await guard({
      method,
      path,
      headers,
      address: socket?.remoteAddress,
      earlierAuth: authByEarlierGuard(request, verifier),
    })
    if ('answer' in decision) {
      sendAnswer(response, decision.answer)
      return { goOn: false }
    }
    setAuth(request, verifier, decision.passed)
    carryCookies(response, decision.passed.setCookies)
    return { goOn: true, auth: decision.passed.auth }
  }
}
