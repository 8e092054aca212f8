import type { Verified } from './claims.js'
import type { Passed } from './guard.js'

type GuardResult = { auth: Verified | undefined; verifier: object; isByBearer: boolean }

/** The result of the guard, by the framework's object for the request. */
const guardResults = new WeakMap<object, GuardResult>()

export const setAuth = (request: object, verifier: object, { auth, isByBearer }: Passed) =>
  void guardResults.set(request, { auth, verifier, isByBearer })

/**
 * For a second guard on the same request: tokens that the first one has renewed are not renewed again. The result of another verifier
 * does not count, and neither does a bearer token, which the second guard may not accept.
 */
export const authByEarlierGuard = (request: object, verifier: object) => {
  const found = guardResults.get(request)
  return found?.verifier === verifier && !found.isByBearer ? found.auth : undefined
}

/** The user of a request that a guard has let through, or undefined if the request has none and the guard is `optional`. */
export const optionalAuthOf = (request: object): Verified | undefined => {
  const found = guardResults.get(request)
  if (!found) throw new Error('No guard of @latchkey/verify has seen this request')
  return found.auth
}

/** The user of a request that a guard has let through. */
export const authOf = (request: object): Verified => {
  const auth = optionalAuthOf(request)
  if (!auth) throw new Error('This request has no user: use optionalAuthOf behind an optional guard')
  return auth
}
