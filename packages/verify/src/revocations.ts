import { createBoundedFetch, type Fetch, reasonOf } from './bounded-fetch.js'
import type { AccessClaims } from './claims.js'
import { isObject } from './token-text.js'

/** How long the service waits for news before it answers, in seconds, and how long we wait for that answer. */
const waitSeconds = 25
const limits = { milliseconds: (waitSeconds + 15) * 1000, maxBytes: 4 * 1024 * 1024 }
/** An answer has at most so many entries. An answer with fewer entries is the last of the list. */
const pageSize = 10_000

/** How long to wait between failed attempts, in milliseconds. */
const firstDelay = 500
const longestDelay = 10_000
const longestRetryAfter = 60_000
/**
 * How long to wait after a refusal, by its status and in milliseconds. The service counts a wrong key as a failed sign-in from our network
 * address, so asking often would lock out everyone who signs in from there.
 */
const delays: Readonly<Record<number, number>> = { 401: 10 * 60_000, 403: 60_000 }

export type RevocationState = {
  /** Whether the whole list was read once. */
  readonly loaded: boolean
  /** Seconds since the last answer. If no session ends, the service still answers every 25 seconds. */
  readonly age: number | undefined
  /** How many ended sessions are in the list, and users all of whose sessions have ended. */
  readonly entries: number
}

type Answer = { entries: readonly Entry[]; cursor: string }

/** Reads entries of which each has an id and a number; null stands for a number that is higher than all. */
const readEntries = (list: unknown, idName: string, leastName: string): Entry[] => {
  if (!Array.isArray(list)) throw new Error('The answer is no list of ended sessions')
  return list.map((value: unknown) => {
    const { [idName]: id, [leastName]: least } = isObject(value) ? value : {}
    if (typeof id !== 'string' || !(least === null || Number.isSafeInteger(least)))
      throw new Error('The answer has an entry of an unknown form')
    return { id, least: Number(least ?? Number.POSITIVE_INFINITY) }
  })
}

/** Tokens of a session are refused if their `gen` is lower than `below`, those of a user if their `iat` is lower than `before`. */
const readAnswer = (text: string): Answer => {
  const answer: unknown = JSON.parse(text)
  if (!isObject(answer) || typeof answer.cursor !== 'string') throw new Error('The answer is no list of ended sessions')
  const { entries, users = [], cursor } = answer
  return { entries: [...readEntries(entries, 'sid', 'below'), ...readEntries(users, 'userId', 'before')], cursor }
}

/** The reasons of refusals that last until the operator changes the key, by status. */
const lastingReasons: Readonly<Record<number, string>> = {
  401: 'The service does not know the service key (401), or the key has expired, or the address leads through a proxy that does not pass /api/service/ on: set serviceUrl',
  403: 'The service key needs the scope revocations:read (403)',
}

class Refusal extends Error {
  readonly delay: number
  readonly isLasting: boolean
  constructor(status: number, retryAfter: string | null) {
    super(lastingReasons[status] ?? `The service answered with ${status}`)
    this.isLasting = status in lastingReasons
    this.delay = delays[status] ?? Math.min(Number(retryAfter ?? 0) * 1000 || 0, longestRetryAfter)
  }
}

/** `failures` is the number of failures before this one. */
const delayAfter = (error: unknown, failures: number) => {
  const backoff = Math.min(firstDelay * 2 ** Math.min(failures, 10), longestDelay)
  return Math.max(backoff * (0.5 + Math.random() / 2), error instanceof Refusal ? error.delay : 0)
}

/** A timer that does not keep a program alive. */
export const startTimer = (action: () => void, milliseconds: number) => {
  const timer: unknown = setTimeout(action, milliseconds)
  if (isObject(timer) && typeof timer.unref === 'function') timer.unref()
}

/** Waits, but ends early when the signal aborts. */
const sleep = (milliseconds: number, signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    const end = () => {
      signal.removeEventListener('abort', end)
      resolve()
    }
    startTimer(end, milliseconds)
    signal.addEventListener('abort', end)
  })

type Options = {
  url: string
  serviceKey: string
  fetch: Fetch
  now: () => number
  onProblem: (message: string) => void
}

export type Revocations = ReturnType<typeof followRevocations>

/**
 * Follows the list of ended sessions: reads all of it, and then waits for news. The service never takes an entry back. Each drops out
 * after 20 minutes, when no token of its session can be valid any more. While the service cannot be reached, the known entries still count.
 */
export const followRevocations = ({ url, serviceKey, fetch, now, onProblem }: Options) => {
  const list = createRevocationList(now)
  const ask = createBoundedFetch(fetch, limits)
  const closing = new AbortController()
  const listeners = new Set<() => void>()
  let cursor: string | undefined
  let isLoaded = false
  let answeredAt: number | undefined
  let failures = 0
  let lastingProblem: string | undefined

  const readNext = async () => {
    const question = new URLSearchParams({
      ...(cursor !== undefined && { after: cursor }),
      wait: isLoaded ? `${waitSeconds}` : '0',
    })
    const headers = { authorization: `Bearer ${serviceKey}`, accept: 'application/json' }
    const { status, headers: answerHeaders, text } = await ask(`${url}?${question}`, headers, closing.signal)
    if (status !== 200) throw new Refusal(status, answerHeaders.get('retry-after'))
    const answer = readAnswer(text)
    for (const entry of answer.entries) list.add(entry)
    for (const listen of listeners) listen()
    cursor = answer.cursor
    answeredAt = now()
    isLoaded ||= answer.entries.length < pageSize
  }

  const follow = async () => {
    while (!closing.signal.aborted) {
      try {
        await readNext()
        failures = 0
        lastingProblem = undefined
      } catch (error) {
        if (closing.signal.aborted) return
        const problem = `ended sessions cannot be read from ${url}: ${reasonOf(error)}`
        if (failures === 0) onProblem(problem)
        lastingProblem = error instanceof Refusal && error.isLasting ? problem : undefined
        const delay = delayAfter(error, failures)
        failures += 1
        await sleep(delay, closing.signal)
      }
    }
  }
  void follow()

  return {
    refusesToken: (claims: Pick<AccessClaims, 'sid' | 'gen' | 'userId' | 'iat'>) => list.refusesToken(claims),
    state: (): RevocationState => ({
      loaded: isLoaded,
      age: answeredAt === undefined ? undefined : (now() - answeredAt) / 1000,
      entries: list.size(),
    }),
    /** Who is called after each answer. */
    listeners,
    /** The problem that keeps the list from being read until an operator changes something. Undefined if waiting can help. */
    lastingProblem: () => lastingProblem,
    close: () => closing.abort(),
  }
}

/** The service keeps its entries for the same time. No access token lives longer than 15 minutes. */
const retention = 20 * 60_000
const sliceLength = 5 * 60_000

/**
 * The id of a session, or of a user all of whose sessions have ended. Tokens of the session with a `gen` lower than `least` are refused, and
 * tokens of the user with a lower `iat`.
 */
export type Entry = { id: string; least: number }

/** In the place of a user, of all users: the service was restored from a backup. */
const everyUser = '00000000-0000-0000-0000-000000000000'

type TokenClaims = { sid: string; gen: number; userId: string; iat: number }

/** `from` is the time at which the first entry was added. */
type Slice = { from: number; entries: Map<string, number> }

/**
 * The sessions that ended in the last minutes. Entries are kept in slices of 5 minutes, and a slice is dropped as a whole when its
 * newest entry is 20 minutes old.
 */
export const createRevocationList = (now: () => number) => {
  /** The slices, newest first. */
  let slices: Slice[] = []

  const newest = () => {
    const [slice] = slices
    if (slice && now() < slice.from + sliceLength) return slice.entries
    const entries = new Map<string, number>()
    slices = [{ from: now(), entries }, ...slices.filter(({ from }) => now() < from + sliceLength + retention)]
    return entries
  }

  const leastOf = (id: string) => slices.reduce((most, { entries }) => Math.max(most, entries.get(id) ?? 0), 0)

  return {
    add: ({ id, least }: Entry) => {
      if (leastOf(id) < least) newest().set(id, least)
    },
    /** Whether the token with these claims is refused. */
    refusesToken: ({ sid, gen, userId, iat }: TokenClaims) =>
      gen < leastOf(sid) || iat < leastOf(userId) || iat < leastOf(everyUser),
    size: () => slices.reduce((sum, { entries }) => sum + entries.size, 0),
  }
}
