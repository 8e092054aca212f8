import type { ProtectedApplication, ProtectedApplications } from '../applications/protected-applications.js'
import { readCookieHeader } from '../contract/cookie-header.js'
import { hostPrefix } from '../http/cookie-table.js'
import { cookieLine } from '../http/cookies.js'
import { minutes, seconds } from '../lib/durations.js'
import { randomToken } from '../lib/random.js'
import { challengeOf } from './host-sessions.js'

/** Below this path everything is ours at a host that gets none of our cookies, and nothing reaches its application. */
const ownPath = '/.latchkey'
export const startPath = `${ownPath}/start`
export const callbackPath = `${ownPath}/callback`
export const signOutPath = `${ownPath}/sign-out`
export const hostSignInPath = '/api/auth/forward-sign-in'

export const isOurPath = (path: string) => path === ownPath || path.startsWith(`${ownPath}/`)

/** A second failure within this time stops. */
const failureWindow = 1 * minutes
const verifierShape = /^([\w-]{43})(?:\.(\d{1,12}))?$/
const challengeShape = /^[\w-]{43}$/
const longestAddress = 2_000

export type Attempt = { verifier: string; isNew: boolean; failedAt: number | undefined }

/** `__Host-` needs `Secure`, so these cookies have both outside production, too. */
const lineOf = (name: 'latchkey' | 'latchkey-attempt', value: string, maxAge: number | 'as in the table') =>
  cookieLine(name, value, { secure: true, maxAge })

const cookieValue = (cookieHeader: string | undefined, name: 'latchkey' | 'latchkey-attempt') =>
  readCookieHeader(cookieHeader ?? '').values.get(`${hostPrefix}${name}`)

export const sessionCookie = {
  read: (cookieHeader: string | undefined) => cookieValue(cookieHeader, 'latchkey'),
  line: (values: readonly string[], maxAge: number) => lineOf('latchkey', values.join('~'), maxAge),
}

/** The verifier of a sign-in that has begun. All tabs of a browser share it, so that each arrives. */
export const attemptCookie = {
  read: (cookieHeader: string | undefined): Attempt => {
    const [, verifier, failedAt] = verifierShape.exec(cookieValue(cookieHeader, 'latchkey-attempt') ?? '') ?? []
    if (verifier === undefined) return { verifier: randomToken(), isNew: true, failedAt: undefined }
    return { verifier, isNew: false, failedAt: failedAt === undefined ? undefined : Number(failedAt) }
  },
  line: ({ verifier, failedAt }: Pick<Attempt, 'verifier' | 'failedAt'>) =>
    lineOf('latchkey-attempt', failedAt === undefined ? verifier : `${verifier}.${failedAt}`, 'as in the table'),
  clear: () => lineOf('latchkey-attempt', '', 0),
}

/** The time of a failure as addresses and cookies carry it. */
export const failureTimeIn = (text: string | null | undefined) =>
  text !== null && text !== undefined && /^\d{1,12}$/.test(text) ? Number(text) : undefined
export const failureTimeNow = (now: Date) => Math.floor(now.getTime() / seconds)

/** Whether something failed a moment ago. */
export const isSecondFailure = (failures: readonly (number | undefined)[], now: Date) =>
  failures.some((at) => at !== undefined && Math.abs(failureTimeNow(now) - at) * seconds < failureWindow)

const queryOf = (parts: Record<string, string | number | undefined>) =>
  Object.entries(parts)
    .flatMap(([name, value]) => (value === undefined ? [] : `${name}=${encodeURIComponent(value)}`))
    .join('&')

type SignIn = { challenge: string; returnTo: string; failedAt: number | undefined }

/** The path on our host that leads a visitor back to theirs. */
export const signInPathOf = ({ challenge, returnTo, failedAt }: SignIn) =>
  `${hostSignInPath}?${queryOf({ challenge, to: returnTo, again: failedAt })}`

export const beginSignIn = (publicUrl: string, attempt: Attempt, returnTo: string, failedAt?: number) => ({
  location: publicUrl + signInPathOf({ challenge: challengeOf(attempt.verifier), returnTo, failedAt }),
  // A tab that begins again by itself says so in its address only: the other tabs have not failed.
  cookie: attemptCookie.line(attempt),
})

/** Where a visitor begins, or begins again, at their own host. */
export const startAddress = (origin: string, returnTo: string, failedAt?: number) =>
  `${origin}${startPath}?${queryOf({ to: returnTo, again: failedAt })}`

export const callbackAddress = (origin: string, code: string, failedAt: number | undefined) =>
  `${origin}${callbackPath}?${queryOf({ code, again: failedAt })}`

/** The address, if it is a page of this host and none of ours; otherwise the first page. */
export const pageOf = (origin: string, address: unknown) => {
  const first = `${origin}/`
  if (typeof address !== 'string' || address.length > longestAddress || !URL.canParse(address)) return first
  const { origin: given, username, password, href, pathname } = new URL(address)
  return given === origin && username === '' && password === '' && !isOurPath(pathname) ? href : first
}

/** What `GET /api/auth/forward-sign-in` was asked. Undefined if the address is not that of a host with a cookie of its own. */
export const readSignIn = (query: Record<string, unknown>, applications: Pick<ProtectedApplications, 'find'>) => {
  const { to, challenge, again } = query
  const origin = typeof to === 'string' && URL.canParse(to) ? new URL(to).origin : ''
  const application: ProtectedApplication | undefined = applications.find(origin)
  if (!application?.hasOwnCookie) return undefined
  const failedAt = typeof again === 'string' ? failureTimeIn(again) : undefined
  return {
    application,
    challenge: typeof challenge === 'string' && challengeShape.test(challenge) ? challenge : undefined,
    returnTo: pageOf(origin, to),
    failedAt,
  }
}
