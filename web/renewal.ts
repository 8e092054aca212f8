import { type Outcome, type Refusal, send } from './requests.js'

const lockName = 'latchkey-refresh'
const markName = 'latchkey.refreshed'
const timeout = 4_000

const done: Outcome<undefined> = { ok: true, value: undefined }
const ended: Refusal = { status: 401, error: 'Not authenticated', errors: [], retryAfter: undefined }

let underway: Promise<Outcome<undefined>> | undefined

/**
 * New tokens for a call that began at `since` and was told that its own have run out. One refresh serves every call of
 * this tab and, through a lock and a mark, every other tab: whoever finds that it has just happened asks for nothing.
 */
export const renew = (since: number): Promise<Outcome<undefined>> => {
  underway ??= inTurn(() => (lastRenewal() > since ? Promise.resolve(done) : refresh())).finally(() => {
    underway = undefined
  })
  return underway
}

/**
 * A call whose answer brings new tokens itself. No refresh runs beside it: its older tokens could arrive after the new
 * ones and take their place.
 */
export const renewing = <Value>(call: () => Promise<Outcome<Value>>) =>
  inTurn(async () => {
    const answer = await call()
    if (answer.ok) markRenewal()
    return answer
  })

const refresh = async (): Promise<Outcome<undefined>> => {
  const begun = Date.now()
  const answer = await send('POST', '/api/auth/refresh', {})
  if (answer.ok) {
    markRenewal()
    return done
  }
  if (answer.refusal.status !== 401) return answer
  // Another tab may have brought newer tokens while ours were on their way.
  return lastRenewal() > begun ? done : { ok: false, refusal: ended }
}

/** Waits for other tabs, but never for long: one of them may be frozen with the lock in hand. The server bears a race. */
const inTurn = async <Value>(act: () => Promise<Value>): Promise<Value> => {
  let result: Promise<Value> | undefined
  const once = () => {
    result ??= act()
    return result
  }
  // Browsers offer locks to secure origins only, so plain http in a local network has none.
  if (!('locks' in navigator)) return once()
  await navigator.locks.request(lockName, { signal: AbortSignal.timeout(timeout) }, once).catch(() => undefined)
  return once()
}

const lastRenewal = () => {
  try {
    return Number(localStorage.getItem(markName) ?? 0)
  } catch {
    return 0
  }
}

const markRenewal = () => {
  try {
    localStorage.setItem(markName, String(Date.now()))
  } catch {
    // Storage is switched off: each tab then refreshes for itself, which the server tolerates.
  }
}
