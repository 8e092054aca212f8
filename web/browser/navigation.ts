import { languageAmong } from '#contract/languages.js'
import type { LoginNotice } from '#contract/pages.js'
import { safeReturnTo } from '#contract/return-to.js'
import { readSettings } from './settings.js'
import { siteStorage, tabStorage } from './storage.js'

const returnToKey = 'latchkey.return-to'
const returnToLifetime = 60 * 60 * 1_000
const emailKey = 'latchkey.mailbox'

/** A value from the query of the address. Compare it with known values; never show it. */
export const queryValue = (name: string) => new URLSearchParams(location.search).get(name) ?? undefined

const longestReturnTo = 2_000
const byService = '/api/auth/return?to='
/** The service leads from here to the host of an application that gets none of our cookies. */
const hostSignIn = '/api/auth/forward-sign-in?'

const isDecidedByService = (returnTo: string) => [byService, hostSignIn].some((path) => returnTo.startsWith(path))

/**
 * An address that this page does not know may be that of an application behind a proxy. The service knows them all, and leads there or to
 * `AFTER_SIGN_IN`.
 */
const decidedByService = (returnTo: string | undefined) => {
  if (returnTo !== undefined && isDecidedByService(returnTo)) return returnTo
  const isAddress = returnTo !== undefined && /^https?:\/\//i.test(returnTo) && URL.canParse(returnTo)
  return isAddress && returnTo.length <= longestReturnTo ? byService + encodeURIComponent(returnTo) : undefined
}

/** The address that only the service knows, if the page leads to one. */
export const addressByService = (returnTo: string | undefined) =>
  returnTo !== undefined && isDecidedByService(returnTo)
    ? (new URLSearchParams(returnTo.slice(returnTo.indexOf('?'))).get('to') ?? undefined)
    : undefined

/** The address, if it is a page of this site or of an allowed one. */
export const acceptedReturnTo = (returnTo: string | undefined) => safeReturnTo(returnTo, readSettings().allowedOrigins)

const wayBack = (returnTo: string | undefined) => acceptedReturnTo(returnTo) ?? decidedByService(returnTo)

/**
 * The page that the visitor wanted before the sign-in, from the address. Only pages of this site and of allowed ones are accepted. When
 * an application redirects a browser here, the browser puts the fragment of the application's page at the end of our address.
 */
export const returnToInAddress = () => {
  const returnTo = queryValue('returnTo')
  const fragment = returnTo?.includes('#') ? '' : location.hash
  return wayBack(returnTo === undefined ? undefined : returnTo + fragment) ?? wayBack(returnTo)
}

/** Whether a proxy shows the step-up page at an address of the application. The query of that address is not for us. */
export const isShownByProxy = () => location.pathname !== '/step-up'

/** The address to which a step-up leads back. If a proxy shows the step-up page at an address of the application, this is that address. */
export const returnToAfterStepUp = () =>
  isShownByProxy() ? acceptedReturnTo(location.pathname + location.search + location.hash) : returnToInAddress()

/** The address of one of our pages, with the page that the visitor wanted. */
export const withReturnTo = (path: string, returnTo: string | undefined) =>
  returnTo === undefined ? path : `${path}${path.includes('?') ? '&' : '?'}returnTo=${encodeURIComponent(returnTo)}`

/** The page that mails a link for a new password, in the words for a user who has no password yet. */
export const setPasswordPath = '/forgot-password?set'
export const isSetPasswordInAddress = () => queryValue('set') !== undefined

/** The registration form for a visitor who has mistyped their email address. */
export const correctEmailPath = '/register'

/** The page on which a new user adds a second factor. `step` is the number of this step in the registration, of which it is the last. */
export const secondFactorPath = (step: 2 | 3) => `/second-factor?step=${step}`
export const stepNumberInAddress = () => [2, 3].find((step) => queryValue('step') === `${step}`)

const otherAccountKey = 'latchkey.other-account'
const otherAccountLifetime = 15 * 60 * 1_000

/** The visitor is signed in, and has asked for a form to use another account. This holds for the next pages of this tab, too. */
export const wantsOtherAccount = () => {
  if (queryValue('notice') === ('other_account' satisfies LoginNotice))
    tabStorage.write(otherAccountKey, `${Date.now()}`)
  return Date.now() - Number(tabStorage.read(otherAccountKey) ?? 0) < otherAccountLifetime
}

/** Goes to the page that the visitor wanted, or else to the operator's `AFTER_SIGN_IN`. */
export const redirectAfterSignIn = (returnTo: string | undefined) => {
  tabStorage.write(otherAccountKey, undefined)
  location.replace(returnTo ?? readSettings().afterSignIn)
}

/** Goes to the login page, which leads back to this page. */
export const redirectToLogin = (notice: LoginNotice) =>
  location.replace(withReturnTo(`/login?notice=${notice}`, location.pathname + location.search + location.hash))

/** The link in a mail opens a new tab, so the page that the visitor wanted is stored where that tab finds it. */
export const storeReturnTo = (returnTo: string | undefined) =>
  siteStorage.write(
    returnToKey,
    returnTo === undefined ? undefined : JSON.stringify({ returnTo, until: Date.now() + returnToLifetime }),
  )

export const storedReturnTo = (): string | undefined => {
  try {
    const stored = JSON.parse(siteStorage.read(returnToKey) ?? '{}') as { returnTo?: unknown; until?: unknown }
    const isFresh = typeof stored.until === 'number' && stored.until > Date.now()
    return isFresh && typeof stored.returnTo === 'string' ? wayBack(stored.returnTo) : undefined
  } catch {
    return undefined
  }
}

/**
 * The address of a mailed link does not say which language an application has asked for; the stored page that the visitor wanted does.
 * True if the page is loaded again in that language.
 */
export const reloadInAskedLanguage = () => {
  const returnTo = queryValue('returnTo') === undefined ? storedReturnTo() : undefined
  const askedLanguage =
    returnTo && languageAmong(new URL(returnTo, location.origin).searchParams.get('ui_locales') ?? '')
  if (!askedLanguage || askedLanguage === readSettings().language) return false
  location.replace(withReturnTo(location.pathname, returnTo) + location.hash)
  return true
}

const addressWithoutFragment = () => location.pathname + location.search

/**
 * The token of a mailed link. It is removed from the address bar at once and kept in the history entry of this tab, so
 * that it survives a reload.
 */
export const takeToken = (name = 'token'): string | undefined => {
  const tokenInFragment = new URLSearchParams(location.hash.slice(1)).get(name) ?? undefined
  const token = tokenInFragment ?? tokenInHistory()
  // At the login page, a fragment without the token belongs to the page to return to, so it stays.
  if (tokenInFragment !== undefined || (name === 'token' && location.hash !== ''))
    history.replaceState({ token }, '', addressWithoutFragment())
  return token
}

const tokenInHistory = () => {
  const { token } = (history.state ?? {}) as { token?: unknown }
  return typeof token === 'string' ? token : undefined
}

/** Removes the token of a link that was used or refused. */
export const forgetToken = () => history.replaceState(null, '', addressWithoutFragment())

/** The address that a mail was sent to. It is kept for this tab only, so that the next page can show it. */
export const storeEmail = (email: string | undefined) => tabStorage.write(emailKey, email)

export const storedEmail = () => tabStorage.read(emailKey)
