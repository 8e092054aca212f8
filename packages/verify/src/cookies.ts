import { readCookieHeader } from '#contract/cookie-header.js'

/** The headers of a request: of the Fetch standard, or of Node and the frameworks on it. */
type AnyHeaders =
  | { get(name: string): string | null }
  | Readonly<Record<string, string | readonly string[] | undefined>>
export type AnyRequest = { readonly headers: AnyHeaders }

const hasGet = (headers: AnyHeaders): headers is { get(name: string): string | null } =>
  typeof headers.get === 'function'

/** A header by its name in small letters. */
export const headerOf = ({ headers }: AnyRequest, name: string): string | undefined => {
  const value = hasGet(headers) ? headers.get(name) : headers[name]
  return typeof value === 'string' ? value : value?.join(name === 'cookie' ? '; ' : ', ')
}

type CookieOptions = { readonly seconds: number; readonly isSecure: boolean }

/** A `Set-Cookie` line. `seconds: 0` clears the cookie. */
export const cookieLine = (name: string, value: string, { seconds, isSecure }: CookieOptions) =>
  `${name}=${value}; Max-Age=${seconds}; Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`

export type CookieValue = { value: string | undefined; isDoubled: boolean }

/** Reads a cookie as the service does. */
export const readCookie = (header: string | undefined, name: string): CookieValue => {
  const { values, doubled } = readCookieHeader(header ?? '')
  return { value: values.get(name), isDoubled: doubled.has(name) }
}
