import type { NamesOf } from '../../option-names.js'
import { createBoundedFetch, reasonOf } from './bounded-fetch.js'
import { isAccessClaims, type Verified, verifiedOf } from './claims.js'
import { refuseFaults, refuseUnknown } from './faults.js'
import { faultOfServiceKey } from './settings.js'
import { isObject } from './token-text.js'
import type { Verifier } from './verifier.js'

export type ApplicationTokenOptions = {
  /** A service key with the scope `tokens:read`. */
  serviceKey: string
  /** The ids of the applications whose tokens are accepted. A token that another application got for the same user is not for you. */
  applications: readonly string[]
  /** What else the user must have shared with the application, such as `groups` for a guard with the option `group`. */
  scopes?: readonly string[]
}

const optionNames: NamesOf<ApplicationTokenOptions> = { serviceKey: true, applications: true, scopes: true }
/** Without these, a guard could not say who the user is. */
const scopesOfUser = ['openid', 'profile']

const limits = { milliseconds: 10_000, maxBytes: 16 * 1024 }
/** For how long an answer counts, in milliseconds. A verifier with `revocations` learns sooner of a session that ends. */
const answerLifetime = 10_000
const maxRemembered = 1_000
const maxPending = 1_000
/**
 * How long the service is not asked again, in milliseconds: after it did not answer, and after it refused the key. Each question with
 * a wrong key counts as a failed sign-in of this network.
 */
const pauses = { noAnswer: 1_000, wrongKey: 10 * 60_000 }
const wrongKeyProblems: Readonly<Record<number, string>> = {
  401: 'the service does not know the service key: add it, and send the service SIGHUP, or set serviceUrl if a proxy does not pass /api/service/ on',
  403: 'the service key has no scope tokens:read',
}
/** `insufficient_scope`: the token is good, but the application has not asked for all that the API needs. */
type BadToken = { readonly ok: false; readonly code: 'unknown_key' | 'insufficient_scope' }
type TokenVerification = Verified | BadToken | { readonly ok: false; readonly code: 'unavailable' }

/** The tokens of the service have 43 characters. */
const tokenShape = /^[\w-]{43}$/

/** Good and bad tokens are remembered separately, so that random tokens, which anyone can send, displace no good one. */
const createMemory = () => ({
  good: new Map<string, { until: number; verified: Verified }>(),
  bad: new Map<string, { until: number; refused: BadToken }>(),
  underWay: new Map<string, Promise<TokenVerification>>(),
})
type Memory = ReturnType<typeof createMemory>

/** The state of all checks with one key. The first question is asked alone, so that a wrong key is tried only once. */
type KeyState = { pausedUntil: number; isAccepted: boolean; firstQuestion: Promise<unknown> | undefined }
const keyStates = new Map<string, KeyState>()
const stateOf = (serviceUrl: string, serviceKey: string) => {
  const name = `${serviceUrl} ${serviceKey}`
  const state = keyStates.get(name) ?? {
    pausedUntil: Number.NEGATIVE_INFINITY,
    isAccepted: false,
    firstQuestion: undefined,
  }
  keyStates.set(name, state)
  return state
}

/** Each verifier has its own memory, because the answers of its service mean nothing to the guard of another service. */
const createMemoryPerVerifier = () => {
  const memories = new WeakMap<Verifier, Memory>()
  return (verifier: Verifier) => {
    const memory = memories.get(verifier) ?? createMemory()
    memories.set(verifier, memory)
    return memory
  }
}

const remember = <Value>(entries: Map<string, Value>, token: string, value: Value) => {
  const [oldest] = entries.keys()
  if (entries.size >= maxRemembered && oldest !== undefined) entries.delete(oldest)
  entries.set(token, value)
}

const refuse = <Code extends string>(code: Code) => ({ ok: false, code }) as const

const isListOf = (shape: RegExp, value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((name) => typeof name === 'string' && shape.test(name))
/** RFC 6749, 3.3. */
const scopeShape = /^[!#-[\]-~]+$/

const readOptions = (options: ApplicationTokenOptions) => {
  refuseUnknown(options, optionNames, 'applicationTokens')
  const { serviceKey, applications } = options
  // An undefined list may come from a missing environment variable, and would ask for less than the API needs.
  const scopes: unknown = 'scopes' in options ? options.scopes : []
  refuseFaults([faultOfServiceKey('serviceKey', serviceKey)])
  if (!isListOf(/./, applications) || applications.length === 0)
    throw new TypeError('applications: must be a list of ids')
  if (!isListOf(scopeShape, scopes)) throw new TypeError('scopes: must be a list of names')
  return { serviceKey, applications, neededScopes: [...new Set([...scopesOfUser, ...scopes])] }
}

/** Returns a function that asks the service about a token, because these tokens carry no claims. */
const createAsk = ({ serviceKey, applications, neededScopes }: ReturnType<typeof readOptions>) => {
  const headers = { authorization: `Bearer ${serviceKey}`, 'content-type': 'application/json' }

  const userIn = (text: string, publicUrl: string): Verified | BadToken => {
    const answer: unknown = JSON.parse(text)
    if (!isObject(answer) || answer.active !== true || !isObject(answer.claims)) return refuse('unknown_key')
    const { application, claims, scope } = answer
    if (typeof application !== 'string' || !applications.includes(application)) return refuse('unknown_key')
    const scopes = typeof scope === 'string' ? scope.split(' ') : []
    if (!neededScopes.every((each) => scopes.includes(each))) return refuse('insufficient_scope')
    // An address that is not shared is empty, as an absent value in the header of a proxy is.
    const shared = { email: '', ...claims }
    return isAccessClaims(shared) && shared.iss === publicUrl ? verifiedOf(shared) : refuse('unknown_key')
  }

  const askNow = async (token: string, { service }: Verifier): Promise<TokenVerification> => {
    const { serviceUrl, publicUrl, fetch, now, onProblem } = service
    const state = stateOf(serviceUrl, serviceKey)
    /** Pauses the questions. If many fail together, one is reported. A pause never gets shorter. */
    const pauseFor = (milliseconds: number, problem: string) => {
      if (now() >= state.pausedUntil) onProblem(`tokens of applications cannot be checked: ${problem}`)
      state.pausedUntil = Math.max(state.pausedUntil, now() + milliseconds)
    }
    try {
      const send = createBoundedFetch(fetch, limits)
      const body = JSON.stringify({ token })
      const { status, text } = await send(`${serviceUrl}/api/service/token`, headers, undefined, body)
      const wrongKey = wrongKeyProblems[status]
      state.isAccepted = status === 200 || (state.isAccepted && !wrongKey)
      if (status === 200) return userIn(text, publicUrl)
      pauseFor(wrongKey ? pauses.wrongKey : 0, wrongKey ?? `the service answered with ${status}`)
    } catch (error) {
      pauseFor(pauses.noAnswer, reasonOf(error))
    }
    return refuse('unavailable')
  }

  /** Asks, but until the service has accepted the key, all other questions wait for the first one. */
  return async (token: string, verifier: Verifier): Promise<TokenVerification> => {
    const { serviceUrl, now } = verifier.service
    const state = stateOf(serviceUrl, serviceKey)
    while (!state.isAccepted && state.firstQuestion) await state.firstQuestion
    if (now() < state.pausedUntil) return refuse('unavailable')
    const asking = askNow(token, verifier)
    if (!state.isAccepted) state.firstQuestion = asking
    const answer = await asking
    if (state.firstQuestion === asking) state.firstQuestion = undefined
    return answer
  }
}

/** Checks tokens of applications, and remembers each answer for some seconds. */
export const createApplicationTokens = (options: ApplicationTokenOptions) => {
  const read = readOptions(options)
  const ask = createAsk(read)
  const memoryOf = createMemoryPerVerifier()

  const askAndRemember = async (token: string, verifier: Verifier, memory: Memory) => {
    const answer = await ask(token, verifier)
    const until = verifier.service.now() + answerLifetime
    if (answer.ok) remember(memory.good, token, { until, verified: answer })
    else if (answer.code !== 'unavailable') {
      memory.good.delete(token)
      remember(memory.bad, token, { until, refused: answer })
    }
    memory.underWay.delete(token)
    return answer
  }

  const check = async (token: string, verifier: Verifier): Promise<TokenVerification> => {
    if (!tokenShape.test(token)) return refuse('unknown_key')
    const memory = memoryOf(verifier)
    const now = verifier.service.now()
    const good = memory.good.get(token)
    const isGood = good && now < Math.min(good.until, good.verified.expiresAt.getTime())
    if (isGood && !verifier.hasEnded(good.verified)) return good.verified
    const bad = memory.bad.get(token)
    if (bad && now < bad.until) return bad.refused
    const pending = memory.underWay.get(token)
    if (pending) return pending
    // A token that was good before is always asked about, so that random tokens cannot take its place.
    if (memory.underWay.size >= maxPending && !good) return refuse('unavailable')
    const asking = askAndRemember(token, verifier, memory)
    memory.underWay.set(token, asking)
    return asking
  }
  return { check, neededScopes: read.neededScopes }
}
