import type { Verified } from './claims.js'

/** By the object of the framework that stands for the request. */
const known = new WeakMap<object, Verified | undefined>()

export const setAuth = (request: object, auth: Verified | undefined) => void known.set(request, auth)

/** The user of a request that a guard has let through, or undefined if it has none and the guard is `optional`. */
export const optionalAuthOf = (request: object): Verified | undefined => {
  if (!known.has(request)) throw new Error('No guard of @latchkey/verify has seen this request')
  return known.get(request)
}

/** The user of a request that a guard has let through. */
export const authOf = (request: object): Verified => {
  const auth = optionalAuthOf(request)
  if (!auth) throw new Error('This request has no user: use optionalAuthOf behind an optional guard')
  return auth
}
