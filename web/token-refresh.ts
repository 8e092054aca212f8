import { type Answer, type Refusal, send } from './requests.js'
import { siteStorage } from './storage.js'

const lockName = 'latchkey-refresh'
const timeKey = 'latchkey.refreshed'
const lockTimeout = 4_000

const done: Answer<undefined> = { ok: true, value: undefined }
const signedOut: Refusal = { status: 401, code: 'not_authenticated', findings: undefined, retryAfter: undefined }

let running: Promise<Answer<undefined>> | undefined

/**
 * New tokens for a call that started at `since` and was refused because its own had expired. One refresh serves every call
 * of this tab and, through a lock and a stored time, every other tab: a tab that finds a newer refresh does not send one.
 */
export const refreshTokens = (since: number): Promise<Answer<undefined>> => {
  running ??= withLock(() => (lastRefresh() > since ? Promise.resolve(done) : refresh())).finally(() => {
    running = undefined
  })
  return running
}

/**
 * For a call whose answer sets new tokens itself. No refresh may run beside it: the older tokens of that refresh could
 * arrive later and replace the new ones.
 */
export const withoutRefresh = <Value>(call: () => Promise<Answer<Value>>) =>
  withLock(async () => {
    const answer = await call()
    if (answer.ok) storeRefreshTime()
    return answer
  })

const refresh = async (): Promise<Answer<undefined>> => {
  const start = Date.now()
  const answer = await send('POST', '/api/auth/refresh', {})
  if (answer.ok) {
    storeRefreshTime()
    return done
  }
  if (answer.refusal.status !== 401) return answer
  // Another tab may have got newer tokens while this request was under way.
  return lastRefresh() > start ? done : { ok: false, refusal: signedOut }
}

/** Waits for other tabs, but not for long: a frozen tab may hold the lock. The server tolerates two refreshes at once. */
const withLock = async <Value>(act: () => Promise<Value>): Promise<Value> => {
  let result: Promise<Value> | undefined
  const once = () => {
    result ??= act()
    return result
  }
  // Browsers offer locks to secure origins only, so plain http in a local network has none.
  if (!('locks' in navigator)) return once()
  await navigator.locks.request(lockName, { signal: AbortSignal.timeout(lockTimeout) }, once).catch(() => undefined)
  return once()
}

const lastRefresh = () => Number(siteStorage.read(timeKey) ?? 0)

/** Without storage each tab refreshes for itself, which the server tolerates. */
const storeRefreshTime = () => siteStorage.write(timeKey, String(Date.now()))
