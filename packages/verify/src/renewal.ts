import { type ClientOfRequest, clientHeaders, createBoundedFetch, reasonOf } from './bounded-fetch.js'
import type { Verified } from './claims.js'
import type { Verifier, VerifyRefusal } from './verifier.js'

const limits = { milliseconds: 10_000, maxBytes: 16 * 1024 }
/** At most so many sessions are renewed at one time. */
const maxPending = 1_000
/** How long no new token is requested after the service has issued a token that these settings refuse, in milliseconds. */
const pause = 10_000
/**
 * Refusals which mean that the settings of the two programs differ, so that every further token would be refused, too. Any other
 * refusal is about one session, and must not stop the renewals of others.
 */
const refusalsOfAllTokens: ReadonlySet<VerifyRefusal> = new Set(['unknown_key', 'bad_signature', 'wrong_issuer'])

const causes: Partial<Record<VerifyRefusal, string>> = {
  unknown_key: '`jwks` needs ACCESS_TOKEN_ALGORITHM=ES256 in the service, `secret` needs HS256 and the same JWT_SECRET',
  unavailable: 'the keys or the list of ended sessions cannot be read, as another message says',
}

export const tokenShape = /^[\w.-]{1,2048}$/
/** Matches only a line with a value, because the service also clears cookies of this name at other domains. */
const newAccessToken = /^access_token=([\w.-]+);/
const sessionCookie = /^(?:access|refresh)_token=/

/** Cookies must reach the browser even if the request fails: its old refresh token would count as stolen some minutes later. */
export type Renewed =
  | { outcome: 'renewed'; verified: Verified; setCookies: readonly string[] }
  | { outcome: 'signed_out' | 'unavailable'; setCookies: readonly string[] }

/** `skipped`: what the browser says of a session that is bound to its device, for which it could not get tokens. */
export type RenewalRequest = ClientOfRequest & { refreshToken: string; skipped: string | undefined }

/** Longer than what browsers say of a few sessions. */
const longestSkipped = 512

const signedOut: Renewed = { outcome: 'signed_out', setCookies: [] }
const unavailable: Renewed = { outcome: 'unavailable', setCookies: [] }

/**
 * Only the refresh token is sent. If the service accepted an access token that we refuse, such as one of the other algorithm after a
 * change of `ACCESS_TOKEN_ALGORITHM`, it would renew nothing.
 */
const headersFor = ({ refreshToken, skipped, ...client }: RenewalRequest) => ({
  cookie: `refresh_token=${refreshToken}`,
  ...(skipped !== undefined && { 'secure-session-skipped': skipped.slice(0, longestSkipped) }),
  ...clientHeaders(client),
})

/**
 * Gets new tokens from the service for a request whose access token is missing or refused. Requests with one refresh token that arrive
 * at the same time share one renewal.
 */
export const createRenewal = ({ service, verifyToken }: Verifier) => {
  const { serviceUrl, fetch, now, onProblem } = service
  const ask = createBoundedFetch(fetch, limits)
  const underWay = new Map<string, Promise<Renewed>>()
  let pausedUntil = Number.NEGATIVE_INFINITY

  const checkNewToken = async (setCookies: readonly string[]): Promise<Renewed> => {
    const token = setCookies.map((line) => newAccessToken.exec(line)?.[1]).find((value) => value !== undefined)
    const checked = await verifyToken(token)
    if (checked.ok) return { outcome: 'renewed', verified: checked, setCookies }
    if (checked.code === 'ended') return { outcome: 'signed_out', setCookies }
    if (refusalsOfAllTokens.has(checked.code)) pausedUntil = now() + pause
    onProblem(
      `the service has issued a token that is refused here (${checked.code}): ${causes[checked.code] ?? 'compare publicUrl, keys and clocks'}`,
    )
    // Shortly before its end, a session gets a token for the seconds that are left. By the clock of this program they may be over.
    return { outcome: checked.code === 'expired' ? 'signed_out' : 'unavailable', setCookies }
  }

  const renew = async (request: RenewalRequest): Promise<Renewed> => {
    try {
      const { status, headers } = await ask(`${serviceUrl}/api/auth/verify?renew=1`, headersFor(request))
      if (status === 401) return signedOut
      if (status === 204) return await checkNewToken(headers.getSetCookie().filter((line) => sessionCookie.test(line)))
      if (status !== 503) onProblem(`a session cannot be renewed: the service answered with ${status}`)
    } catch (error) {
      onProblem(`a session cannot be renewed: ${reasonOf(error)}`)
    }
    return unavailable
  }

  return async (request: RenewalRequest): Promise<Renewed> => {
    const { refreshToken } = request
    if (!tokenShape.test(refreshToken)) return signedOut
    const pending = underWay.get(refreshToken)
    if (pending) return pending
    if (underWay.size >= maxPending || now() < pausedUntil) return unavailable
    const renewing = renew(request).finally(() => underWay.delete(refreshToken))
    underWay.set(refreshToken, renewing)
    return renewing
  }
}
