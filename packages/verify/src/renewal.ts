import { createBoundedFetch } from './bounded-fetch.js'
import type { Verified } from './claims.js'
import type { Verifier, VerifyRefusal } from './verifier.js'

const limits = { milliseconds: 10_000, mostBytes: 16 * 1024 }
/** Renewals of different sessions at one time. */
const mostUnderWay = 1_000

const tokenShape = /^[\w.-]{1,2048}$/
const addressShape = /^[\da-f.:]{2,45}$/i
/** `(?!;)`: with a value. The service also clears cookies of these names in other places. */
const newAccessToken = /^access_token=(?!;)([\w.-]+);/
const ofSession = /^(?:access|refresh)_token=/

export type Renewed =
  | { outcome: 'renewed'; verified: Verified; setCookies: readonly string[] }
  | { outcome: 'signed_out' | 'unavailable' }

export type RenewalRequest = {
  refreshToken: string
  accessToken: string | undefined
  /** Why the access token was refused here. */
  code: VerifyRefusal
  userAgent: string | undefined
  /** The address of the client. The service believes it if `TRUST_PROXY` names this program. */
  address: string | undefined
}

/**
 * The service would let a token that only we refuse go on, and renew nothing. If it is a matter of time, we ask for a new one. If it
 * is not, the settings of the two differ, and new tokens would not help: then we ask with both, and can tell.
 */
const isWithoutAccessToken = (code: VerifyRefusal) => code === 'missing' || code === 'expired' || code === 'ended'

const headersFor = ({ refreshToken, accessToken = '', code, userAgent, address }: RenewalRequest) => ({
  cookie: [
    `refresh_token=${refreshToken}`,
    ...(isWithoutAccessToken(code) || !tokenShape.test(accessToken) ? [] : [`access_token=${accessToken}`]),
  ].join('; '),
  ...(userAgent === undefined ? {} : { 'user-agent': userAgent }),
  ...(address !== undefined && addressShape.test(address) ? { 'x-forwarded-for': address } : {}),
})

const messageOf = (error: unknown) => (error instanceof Error ? error.message : 'unknown')

/**
 * New tokens for a request whose access token is missing or has expired, from the service. Requests with one refresh token that
 * arrive at the same time share one renewal.
 */
export const createRenewal = ({ service, verifyToken }: Verifier) => {
  const { serviceUrl, fetch, onProblem } = service
  const ask = createBoundedFetch(fetch, limits)
  const underWay = new Map<string, Promise<Renewed>>()

  const accept = async (setCookies: readonly string[]): Promise<Renewed> => {
    const token = setCookies.map((line) => newAccessToken.exec(line)?.[1]).find((value) => value !== undefined)
    const checked = await verifyToken(token)
    if (checked.ok) return { outcome: 'renewed', verified: checked, setCookies }
    if (checked.code === 'ended') return { outcome: 'signed_out' }
    const difference = token === undefined ? 'the service accepts a token' : 'the service has issued a token'
    onProblem(`${difference} that is refused here (${checked.code}): compare publicUrl, the keys and the clocks`)
    return { outcome: 'unavailable' }
  }

  const renew = async (request: RenewalRequest): Promise<Renewed> => {
    try {
      const { status, headers } = await ask(`${serviceUrl}/api/auth/verify?renew=1`, headersFor(request))
      if (status === 401) return { outcome: 'signed_out' }
      if (status === 204) return await accept(headers.getSetCookie().filter((line) => ofSession.test(line)))
      if (status !== 503) onProblem(`a session cannot be renewed: the service answered with ${status}`)
    } catch (error) {
      onProblem(`a session cannot be renewed: ${messageOf(error)}`)
    }
    return { outcome: 'unavailable' }
  }

  return async (request: RenewalRequest): Promise<Renewed> => {
    const { refreshToken } = request
    if (!tokenShape.test(refreshToken)) return { outcome: 'signed_out' }
    const started = underWay.get(refreshToken)
    if (started) return started
    if (underWay.size >= mostUnderWay) return { outcome: 'unavailable' }
    const renewing = renew(request).finally(() => underWay.delete(refreshToken))
    underWay.set(refreshToken, renewing)
    return renewing
  }
}
