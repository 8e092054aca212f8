import type { SignedIn } from '#contract/schemas.js'
import { type Answer, isTemporary } from './answers.js'
import type { Presence } from './presence.js'
import type { Fetch, Requests } from './requests.js'

/** The name of the lock, and of the mark in the storage. */
const sharedName = 'latchkey-refresh'
const lockTimeout = 4_000

const done: Answer<undefined> = { value: undefined }

/** A random value that changes whenever a tab gets new tokens. Without storage each tab refreshes for itself, which the service tolerates. */
const createMark = () => {
  let ownMark: string | null = null
  return {
    mark: () => {
      try {
        return localStorage.getItem(sharedName) ?? ownMark
      } catch {
        return ownMark
      }
    },
    setMark: () => {
      ownMark = String(Math.random())
      try {
        localStorage.setItem(sharedName, ownMark)
      } catch {
        // Without storage, the other tabs do not learn of the new tokens.
      }
    },
  }
}

/** Gets new tokens once for all calls of this tab and for all tabs of this site. */
export const createRenewal = (send: Requests['send'], asking: Presence['asking']) => {
  const { mark, setMark } = createMark()
  let running: Promise<Answer<undefined>> | undefined

  /**
   * A browser gets the tokens of a session that is bound to its device by itself, before a request leaves. If they were refused before
   * their time, the service takes them away and asks to come again.
   */
  const sendRefresh = async () => {
    const ask = () => send<SignedIn>('POST', 'refresh', { ifOld: true })
    const first = await ask()
    if (first.status !== 503 || first.retryAfter !== 1) return first
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    return ask()
  }

  const refresh = async (markBefore: string | null): Promise<Answer<undefined>> => {
    if (mark() !== markBefore) return done
    const learn = asking()
    // The application may have got new tokens for this browser since the call that was refused.
    const answer = await sendRefresh()
    if (!answer.refused) {
      setMark()
      learn(answer.value.user)
      return done
    }
    const lacksKey = answer.refused === 'device_proof_missing'
    // Any other refusal says nothing about the session.
    if (answer.refused !== 'not_authenticated' && !lacksKey) return answer
    // Another tab may have got newer tokens while this request was under way.
    if (mark() !== markBefore) return done
    learn(null)
    return lacksKey ? { ...answer, refused: 'not_authenticated', because: 'device_proof_missing' } : answer
  }

  /** Renews the tokens after a call that was refused because they had expired. `markBefore` is the mark before that call. */
  const renew = (markBefore: string | null): Promise<Answer<undefined>> => {
    running ??= withLock(() => refresh(markBefore)).finally(() => {
      running = undefined
    })
    return running
  }

  /**
   * Makes a call whose answer itself sets new tokens. No refresh may run at the same time: its older tokens could arrive later and
   * replace the new ones.
   */
  const whileNoRenewal = <Value>(call: () => Promise<Answer<Value>>) =>
    withLock(async () => {
      const answer = await call()
      if (!answer.refused) setMark()
      return answer
    })

  /** Repeats a call once with new tokens when its own have expired. A 401 after that means that the session has ended. */
  const asSignedIn = async <Value>(call: () => Promise<Answer<Value>>): Promise<Answer<Value>> => {
    const markBefore = mark()
    const learn = asking()
    const first = await call()
    if (first.refused !== 'not_authenticated') return first
    const renewal = await renew(markBefore)
    if (renewal.refused) return renewal
    const second = await call()
    if (second.refused === 'not_authenticated') learn(null)
    return second
  }

  return { mark, renew, whileNoRenewal, asSignedIn }
}

/** Waits for other tabs, but not for long: a frozen tab may hold the lock. The service tolerates two refreshes at once. */
const withLock = async <Value>(act: () => Promise<Value>): Promise<Value> => {
  let result: Promise<Value> | undefined
  const once = () => {
    result ??= act()
    return result
  }
  // Browsers offer locks to secure origins only, so plain http in a local network has none.
  await globalThis.navigator?.locks
    ?.request(sharedName, { signal: AbortSignal.timeout(lockTimeout) }, once)
    .catch(() => undefined)
  return once()
}

export type Renewal = ReturnType<typeof createRenewal>

/**
 * The `fetch` of `Client`: after a 401 it renews the tokens and sends the request once more. An application reads 401 as a sign-out, so it
 * gets 503 instead while Latchkey cannot renew the tokens for the moment.
 */
export const createRenewingFetch =
  (fetch: Fetch, { mark, renew }: Renewal): Fetch =>
  async (input, init) => {
    const markBefore = mark()
    // Not `input instanceof Request`: libraries replace the global `Request`.
    const copy = (input as Partial<Request>).clone?.() ?? input
    const response = await fetch(copy, init)
    if (response.status !== 401) return response
    const renewal = await renew(markBefore)
    // A stream can be read only once, so a request with such a body is not sent again.
    if (!renewal.refused) return init?.body instanceof ReadableStream ? response : fetch(input, init)
    if (!isTemporary(renewal)) return response
    const { refused, retryAfter } = renewal
    return Response.json(
      { code: refused },
      { status: 503, headers: retryAfter ? { 'retry-after': `${retryAfter}` } : {} },
    )
  }
