import { everyValueOf } from '#contract/cookie-header.js'
import { clientHeaders, createBoundedFetch, reasonOf } from './bounded-fetch.js'
import { type AnyRequest, headerOf } from './cookies.js'
import { tokenShape } from './renewal.js'
import type { Verifier } from './verifier.js'

const limits = { milliseconds: 10_000, maxBytes: 16 * 1024 }
const csrfSecret = /^(?:__Host-)?csrf_secret=[\w-]+/
const sessionCookie = /^(?:access|refresh)_token=/

/** An application recognises the error by its name, because each of its bundles has a class of its own. */
class StillSignedIn extends Error {
  override readonly name = 'StillSignedIn'
}

const refusedError = (status: number) =>
  new StillSignedIn(`Latchkey answered with ${status} to the sign-out: the user is still signed in`)
const noAnswerError = (cause: unknown) =>
  new StillSignedIn(`Latchkey did not answer to the sign-out: ${reasonOf(cause)}. The user is still signed in`, {
    cause,
  })

/** Says why a form of another site was refused. `origin` is what a client has sent, so it is quoted and cut. */
export const foreignFormMessage = (origin: string | null, ownOrigin: string) =>
  `signOut: a request from ${origin === null ? 'no page' : JSON.stringify(origin.slice(0, 200))} was refused: only a form of ${ownOrigin} (appUrl) may send it`

const readCsrfToken = (text: string): string => {
  const { csrfToken } = JSON.parse(text)
  return String(csrfToken)
}

/**
 * Ends the session of a request at the service, and returns the `Set-Cookie` lines that clear its cookies. The error `StillSignedIn` means
 * that the session goes on. Of the cookies only the two tokens are sent, with a CSRF secret that is used this once.
 */
export const createEndSession = ({ service: { serviceUrl, fetch } }: Verifier) => {
  const ask = createBoundedFetch(fetch, limits)
  const end = async (request: AnyRequest, address: string | undefined): Promise<readonly string[]> => {
    const client = clientHeaders({ userAgent: headerOf(request, 'user-agent')?.slice(0, 256), address })
    const cookieHeader = headerOf(request, 'cookie') ?? ''
    // If a cookie came twice, both values are sent, and the service ends the session of each. Values that cannot be tokens are left
    // out, because they could make the request too long.
    const tokens = ['access_token', 'refresh_token'].flatMap((name) =>
      everyValueOf(cookieHeader, name)
        .filter((value) => tokenShape.test(value))
        .map((value) => `${name}=${value}`),
    )
    const cookie = tokens.join('; ')
    const csrfAnswer = await ask(`${serviceUrl}/api/auth/csrf-token`, { ...client, cookie })
    if (csrfAnswer.status !== 200) throw refusedError(csrfAnswer.status)
    const secret = csrfAnswer.headers.getSetCookie().find((line) => csrfSecret.test(line)) ?? ''
    const headers = {
      ...client,
      cookie: [...tokens, csrfSecret.exec(secret)?.[0]].join('; '),
      'content-type': 'application/json',
      'x-csrf-token': readCsrfToken(csrfAnswer.text),
    }
    const logoutAnswer = await ask(`${serviceUrl}/api/auth/logout`, headers, undefined, '{}')
    if (logoutAnswer.status !== 204) throw refusedError(logoutAnswer.status)
    return logoutAnswer.headers.getSetCookie().filter((line) => sessionCookie.test(line))
  }
  return (...request: Parameters<typeof end>) =>
    end(...request).catch((error: unknown) => {
      throw error instanceof StillSignedIn ? error : noAnswerError(error)
    })
}
