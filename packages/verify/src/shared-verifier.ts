import { refuseFaults } from './faults.js'
import { faultOfAddress, faultsOfOptions, type VerifierOptions } from './settings.js'
import { createVerifier, type Verifier } from './verifier.js'

const globalKey = Symbol.for('@latchkey/verify')
const longestWait = 5_000
const pollInterval = 50

/** Waits until the list of ended sessions was read, for five seconds at most. */
const waitForList = async (verifier: Verifier) => {
  const isListMissing = () => verifier.revocations()?.loaded === false
  for (let waited = 0; isListMissing() && waited < longestWait; waited += pollInterval)
    await new Promise((resolve) => setTimeout(resolve, pollInterval))
}

type ReadableHeaders = { get(name: string): string | null }

const hasToken = (headers: ReadableHeaders) =>
  headers.get('authorization') !== null || /(?:access|refresh)_token=/.test(headers.get('cookie') ?? '')

export type SharedVerifier = {
  readonly verifier: Verifier
  /** The first requests with a token wait together until the list was read: without it, the answer would be 503. */
  readonly readyFor: (headers: ReadableHeaders) => Promise<void>
  readonly close: () => void
}

const open = (options: VerifierOptions) => {
  const verifier = createVerifier(options)
  return { verifier, firstRead: waitForList(verifier), users: 0 }
}

/**
 * Frameworks load a module more than once: Next bundles the proxy, the pages and the route handlers each for themselves, and all
 * of them load again after each change in development. One verifier serves them, and so one connection follows the ended sessions.
 */
export const sharedVerifier = (options: VerifierOptions, appUrl?: string): SharedVerifier => {
  refuseFaults([...faultsOfOptions(options, 'createLatchkey'), faultOfAddress('appUrl', appUrl)])
  const shared: Map<string, ReturnType<typeof open>> = Reflect.get(globalThis, globalKey) ?? new Map()
  Reflect.set(globalThis, globalKey, shared)
  // Each bundle has an `onProblem` of its own, with the same text. Only tests replace `fetch` and `now`, and a test shares no verifier.
  const isOfTest = Boolean(options.fetch ?? options.now)
  const key = isOfTest ? String(Math.random()) : JSON.stringify({ ...options, onProblem: String(options.onProblem) })
  const entry = shared.get(key) ?? open(options)
  shared.set(key, entry)
  entry.users += 1
  let isOpen = true
  /** Only the last handle closes the verifier, because the others would no longer learn of ended sessions. */
  const close = () => {
    if (isOpen) entry.users -= 1
    isOpen = false
    if (entry.users > 0) return
    shared.delete(key)
    entry.verifier.close()
  }
  const readyFor = async (headers: ReadableHeaders) => {
    if (hasToken(headers)) await entry.firstRead
  }
  return { verifier: entry.verifier, readyFor, close }
}

export type LazySetup<Setup> = { readonly get: () => Setup; readonly close: () => void }

/** Opens with the first `get`, and only once. What was never opened needs no `close`. */
export const createLazySetup = <Setup extends { readonly close: () => void }>(open: () => Setup): LazySetup<Setup> => {
  let setup: Setup | undefined
  return {
    get: () => {
      setup ??= open()
      return setup
    },
    close: () => setup?.close(),
  }
}
