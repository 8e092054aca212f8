import type { VerifierOptions } from './settings.js'
import { createVerifier, type Verifier } from './verifier.js'

const place = Symbol.for('@latchkey/verify')
const longestWait = 5_000
const pause = 50

/** Ends when the list of ended sessions was read, and after five seconds at the latest. */
const readOnce = async (verifier: Verifier) => {
  const isMissing = () => verifier.revocations()?.loaded === false
  for (let waited = 0; isMissing() && waited < longestWait; waited += pause)
    await new Promise((resolve) => setTimeout(resolve, pause))
}

export type SharedVerifier = {
  readonly verifier: Verifier
  /** The first requests with a token wait for this together: without the list, the answer would be 503. */
  readonly firstRead: Promise<void>
  readonly close: () => void
}

const open = (options: VerifierOptions, forget: () => void): SharedVerifier => {
  const verifier = createVerifier(options)
  const close = () => {
    forget()
    verifier.close()
  }
  return { verifier, firstRead: readOnce(verifier), close }
}

/**
 * Frameworks load a module more than once: Next bundles the proxy, the pages and the route handlers each for themselves, and all
 * of them load again after each change in development. One verifier serves them, and so one connection follows the ended sessions.
 */
export const sharedVerifier = (options: VerifierOptions): SharedVerifier => {
  // Only tests replace these.
  if (options.fetch ?? options.now) return open(options, () => {})
  const shared: Map<string, SharedVerifier> = Reflect.get(globalThis, place) ?? new Map()
  Reflect.set(globalThis, place, shared)
  // Each bundle has an `onProblem` of its own, with the same text.
  const key = JSON.stringify({ ...options, onProblem: String(options.onProblem) })
  const known = shared.get(key) ?? open(options, () => shared.delete(key))
  shared.set(key, known)
  return known
}
