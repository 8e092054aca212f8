import { languages } from '../contract/languages.js'
import { days, hours, minutes, seconds } from '../lib/durations.js'

export const accessTokenLifetime = 15 * minutes
/** A session ends if it is not used for this long. Every refresh begins this time again. */
export const refreshTokenLifetime = 30 * days
/** A sign-in that waits for its next step. */
export const challengeLifetime = 10 * minutes
/** What a browser may take to answer for a passkey. */
export const ceremonyLifetime = 5 * minutes
export const knownDeviceLifetime = 365 * days
export const registrationLifetime = 24 * hours
/** The way to a provider and back. */
export const attemptLifetime = 10 * minutes
export const pendingLinkLifetime = 10 * minutes
export const mailSignInLifetime = 10 * minutes
/** The lifetime of a stored request, and of the cookie that ties it to its browser. */
export const authorizationRequestLifetime = 1 * hours

/** The way from the host of an application to ours and back. */
const hostAttemptLifetime = 10 * minutes

/** How many accounts one browser remembers, such as those of a family. The browser has a value for each, the newest first. */
export const maxAccounts = 5

type CookieRow = {
  sameSite: 'Strict' | 'Lax'
  /** In milliseconds. `atMost`: a setting, or the end of the session, may make it shorter. */
  lifetime: number | { atMost: number }
  value: RegExp
  /**
   * The proxy files and the guards of `@latchkey/verify` write their own cookie lines. Tests compare these with this table. `host`: the
   * service sets it at the host of an application.
   */
  setBy: 'service' | 'proxy' | 'guard' | 'host'
}

const jwt = /^[\w-]+\.[\w-]+\.[\w-]+$/
const token = /^[\w-]{43}$/
/** One token for each account that this browser knows. */
const tokenList = new RegExp(`^[\\w-]{43}(?:\\.[\\w-]{43}){0,${maxAccounts - 1}}$`)
const sealed = /^[\w-]+$/
/** Random bits and a MAC, for each port of the host. */
const hostCookie = /^[\w-]{43}\.[\w-]{43}(?:~[\w-]{43}\.[\w-]{43}){0,3}$/

// biome-ignore format: one cookie a line, so that the table can be read as a table
/**
 * Every cookie there is, by its plain name. A name that ends with `_` stands for several cookies: one for each provider or passkey
 * that is waited for, with 12 more characters. All are `HttpOnly` with `Path=/`, and in production `Secure`. In production each name
 * begins with `__Host-`, except the two that the specification names; only these two can have a `Domain`.
 */
const table = {
  access_token: { sameSite: 'Strict', lifetime: { atMost: accessTokenLifetime }, value: jwt, setBy: 'service' },
  refresh_token: { sameSite: 'Strict', lifetime: { atMost: refreshTokenLifetime }, value: jwt, setBy: 'service' },
  csrf_secret: { sameSite: 'Strict', lifetime: 30 * days, value: token, setBy: 'service' },
  challenge: { sameSite: 'Strict', lifetime: challengeLifetime, value: token, setBy: 'service' },
  // Lax, because a browser sends no Strict cookie when a provider sends it back to us. Alone it signs no user in.
  trusted_device: { sameSite: 'Lax', lifetime: { atMost: 365 * days }, value: tokenList, setBy: 'service' },
  passkey_: { sameSite: 'Strict', lifetime: ceremonyLifetime, value: /^\d{13}\.[\w-]+$/, setBy: 'service' },
  // Makes failures in this browser count apart from those of others. It signs no user in.
  known_device: { sameSite: 'Strict', lifetime: knownDeviceLifetime, value: tokenList, setBy: 'service' },
  // Ties the confirmation of an email to the browser that registered it. Other browsers also need the password.
  registration: { sameSite: 'Strict', lifetime: registrationLifetime, value: token, setBy: 'service' },
  // Lax, for the way back from a provider, as trusted_device.
  attempt_: { sameSite: 'Lax', lifetime: attemptLifetime, value: sealed, setBy: 'service' },
  // Ties the request of an application to the browser that began it. The name begins with `attempt_`, so every proxy file removes it.
  attempt_browser: { sameSite: 'Strict', lifetime: authorizationRequestLifetime, value: token, setBy: 'service' },
  // Ties a sign-in by mail to the browser that asked for it. The name is chosen as above.
  attempt_mail: { sameSite: 'Strict', lifetime: mailSignInLifetime, value: token, setBy: 'service' },
  pending_link: { sameSite: 'Strict', lifetime: pendingLinkLifetime, value: sealed, setBy: 'service' },
  // Lax, so that a link in a mail or on another site opens a page in the chosen language. The value says nothing more about the user.
  latchkey_language: { sameSite: 'Lax', lifetime: 365 * days, value: new RegExp(`^(?:${languages.join('|')})$`), setBy: 'service' },
  // How often this browser was led back to an application within seconds: its cookies may not reach that application.
  attempt_returns: { sameSite: 'Lax', lifetime: 10 * seconds, value: /^[\w-]{16}(?:\.\d{1,2}){2}$/, setBy: 'service' },
  // These two are always Secure and have the prefix. Lax, because other sites link to applications.
  latchkey: { sameSite: 'Lax', lifetime: { atMost: 30 * days }, value: hostCookie, setBy: 'host' },
  'latchkey-attempt': { sameSite: 'Lax', lifetime: hostAttemptLifetime, value: /^[\w-]{43}(?:\.\d{1,12})?$/, setBy: 'host' },
  latchkey_bounced: { sameSite: 'Lax', lifetime: 10 * seconds, value: /^1$/, setBy: 'proxy' },
  latchkey_redirects: { sameSite: 'Lax', lifetime: 10 * seconds, value: /^[1-9]$/, setBy: 'guard' },
} as const satisfies Record<string, CookieRow>

type TableName = keyof typeof table
/** The plain name of a cookie that the service sets. */
export type CookieName =
  | Exclude<TableName, 'passkey_' | 'attempt_' | 'latchkey_bounced' | 'latchkey_redirects'>
  | `passkey_${string}`
  | `attempt_${string}`
/** The cookies whose lifetime the table only limits: whoever sets one says for how long. */
export type LimitedCookie = Extract<
  CookieName,
  { [Name in TableName]: (typeof table)[Name]['lifetime'] extends number ? never : Name }[TableName]
>

export const cookieTable: Readonly<Record<TableName, CookieRow>> = table
export const hostPrefix = '__Host-'

const isTableName = (name: string): name is TableName => Object.hasOwn(table, name)

/** The row of a cookie by its plain name; undefined if the cookie is not ours. */
export const cookieRowOf = (name: string): CookieRow | undefined => {
  const [, prefix] = /^([a-z]+_)[\w-]{12}$/.exec(name) ?? []
  if (prefix !== undefined && isTableName(prefix)) return table[prefix]
  return isTableName(name) && !name.endsWith('_') ? table[name] : undefined
}

/** The specification names these two. Every other cookie has a prefix in production. */
export const sessionCookies = ['access_token', 'refresh_token'] as const
export const isSessionCookie = (name: string) => sessionCookies.some((cookie) => cookie === name)

/** The lifetime in seconds, as in `Max-Age`. */
export const maxAgeOf = ({ lifetime }: CookieRow) =>
  (typeof lifetime === 'number' ? lifetime : lifetime.atMost) / seconds
