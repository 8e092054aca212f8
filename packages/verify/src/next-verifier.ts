import type { VerifierOptions } from './settings.js'
import { createVerifier, type Verifier } from './verifier.js'

const place = Symbol.for('@latchkey/verify/next')

/**
 * Next bundles the proxy, the pages and the route handlers each for themselves, and loads them again after each change in
 * development. All of them use one verifier, and so one connection that follows the ended sessions.
 */
export const sharedVerifier = (options: VerifierOptions): Verifier => {
  // Only tests replace these.
  if (options.fetch ?? options.now) return createVerifier(options)
  const shared: Map<string, Verifier> = Reflect.get(globalThis, place) ?? new Map()
  Reflect.set(globalThis, place, shared)
  // Each bundle has an `onProblem` of its own, with the same text.
  const key = JSON.stringify({ ...options, onProblem: String(options.onProblem) })
  const known = shared.get(key)
  if (known) return known
  const verifier = createVerifier(options)
  shared.set(key, verifier)
  return verifier
}

const longestWait = 5_000
const pause = 50

/** The first request waits for the list of ended sessions: without it, the answer would be 503. */
export const listIsRead = async (verifier: Verifier) => {
  const isMissing = () => verifier.revocations()?.loaded === false
  for (let waited = 0; isMissing() && waited < longestWait; waited += pause)
    await new Promise((resolve) => setTimeout(resolve, pause))
}
