import { safeReturnTo } from '../src/contract/return-to.js'
import { readSettings } from './settings.js'

const memoryName = 'latchkey.return-to'
const memoryLasts = 60 * 60 * 1_000

const query = () => new URLSearchParams(location.search)

/** A word of the address, for comparing with the ones we know. It is never shown. */
export const wordInAddress = (name: string) => query().get(name) ?? undefined

/** Where the visitor was going before we stood in the way; only a path of this site is believed. */
export const wantedPlace = () => safeReturnTo(query().get('returnTo') ?? undefined)

/** One of our pages that knows where the visitor was going. */
export const withWantedPlace = (path: string, place: string | undefined) =>
  place === undefined ? path : `${path}${path.includes('?') ? '&' : '?'}returnTo=${encodeURIComponent(place)}`

/** To the place that was wanted, or to where the operator lets a sign-in end. */
export const moveOn = (place: string | undefined) => location.replace(place ?? readSettings().afterSignIn)

/** The way to the login page and back to here. */
export const leaveForLogin = (notice: 'sign_in' | 'session_ended') =>
  location.replace(withWantedPlace(`/login?notice=${notice}`, location.pathname + location.search + location.hash))

/** A mail's link opens in a new tab, so a place that shall survive the mail is kept where that tab finds it. */
export const rememberPlace = (place: string | undefined) => {
  try {
    if (place === undefined) localStorage.removeItem(memoryName)
    else localStorage.setItem(memoryName, JSON.stringify({ place, until: Date.now() + memoryLasts }))
  } catch {
    // Without storage the visitor arrives where every sign-in ends.
  }
}

export const recallPlace = (): string | undefined => {
  try {
    const kept = JSON.parse(localStorage.getItem(memoryName) ?? '{}') as { place?: unknown; until?: unknown }
    const fresh = typeof kept.until === 'number' && kept.until > Date.now()
    return fresh && typeof kept.place === 'string' ? safeReturnTo(kept.place) : undefined
  } catch {
    return undefined
  }
}

const withoutFragment = () => location.pathname + location.search

/**
 * The token of a mailed link, taken out of the address bar at once. The tab keeps it out of sight, so that a reload does
 * not lose it.
 */
export const takeToken = (): string | undefined => {
  const mailed = new URLSearchParams(location.hash.slice(1)).get('token') ?? undefined
  const token = mailed ?? keptToken()
  if (location.hash !== '') history.replaceState({ token }, '', withoutFragment())
  return token
}

const keptToken = () => {
  const { token } = (history.state ?? {}) as { token?: unknown }
  return typeof token === 'string' ? token : undefined
}

/** A link that was used or refused is worth nothing more. */
export const forgetToken = () => history.replaceState(null, '', withoutFragment())

const mailboxName = 'latchkey.mailbox'

/** The address that a mail was sent to, kept for this tab only, so that the next page can name it. */
export const rememberMailbox = (email: string | undefined) => {
  try {
    if (email === undefined) sessionStorage.removeItem(mailboxName)
    else sessionStorage.setItem(mailboxName, email)
  } catch {
    // Without storage the page speaks of "a mail" and leaves the address out.
  }
}

export const recallMailbox = () => {
  try {
    return sessionStorage.getItem(mailboxName) ?? undefined
  } catch {
    return undefined
  }
}
