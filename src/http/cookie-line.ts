import { type CookieName, cookieRowOf, hostPrefix, isSessionCookie, maxAgeOf } from './cookie-table.js'

/** Everything that we put into a cookie is made of these characters, so nothing ever needs escaping. */
const plainValue = /^[\w.-]*$/

/**
 * In production a browser accepts a cookie whose name begins with `__Host-` from this host only: a sibling host cannot
 * plant it for the whole domain. It needs `Secure` and `Path=/`, so in development the plain names are used.
 */
export const fullCookieName = (name: string, secure: boolean) =>
  secure && !isSessionCookie(name) ? hostPrefix + name : name

/** `maxAge` is in seconds: for a cookie whose lifetime the table only limits (`atMost`), or 0 to clear a cookie. */
type LineOptions = { secure: boolean; domain?: string | undefined; maxAge?: number | undefined }

/** A `Set-Cookie` line as the table says. */
export const cookieLine = (name: CookieName, value: string, { secure, domain, maxAge }: LineOptions) => {
  if (!plainValue.test(value)) throw new Error(`The value for the cookie ${name} has characters that need escaping`)
  const row = cookieRowOf(name)
  if (!row) throw new Error(`The table of cookies has no ${name}`)
  const domainAndPath = `${domain === undefined ? '' : `Domain=${domain}; `}Path=/`
  const flags = `${domainAndPath}; HttpOnly; SameSite=${row.sameSite}${secure ? '; Secure' : ''}`
  return `${fullCookieName(name, secure)}=${value}; Max-Age=${maxAge ?? maxAgeOf(row)}; ${flags}`
}
