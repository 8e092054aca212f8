import type { FastifyRequest } from 'fastify'
import { isRefused, type Refused, refuse } from '../contract/outcome.js'
import { clientOf } from '../http/request-origin.js'
import type { ReserveRotation } from '../sessions/guards.js'
import type { Rotations } from '../sessions/rotation.js'
import type { IssuedTokens } from '../sessions/sessions.js'
import type { RefreshToken } from '../sessions/tokens.js'

type RenewalOutcome = IssuedTokens | Refused<'not_authenticated' | 'unavailable'>

export type Renewal = ReturnType<typeof createRenewal>

/**
 * New tokens for a request that came through a proxy. A page sends many requests at once, all with the same refresh token: those that
 * arrive while the token is being exchanged share one exchange. Only an exchange that rotates the token counts in the limit of
 * refreshes, so the many requests of one page count once.
 */
export const createRenewal = ({ rotate, reserveRotation }: { rotate: Rotations; reserveRotation: ReserveRotation }) => {
  const exchanges = new Map<string, Promise<RenewalOutcome>>()

  const exchange = async (token: RefreshToken, request: FastifyRequest): Promise<RenewalOutcome> => {
    const { granted, retryAfter, refund } = await reserveRotation(request)
    if (!granted) return refuse('unavailable', { retryAfter })
    let isRotated = false
    try {
      const rotated = await rotate(token, clientOf(request), 'proxy')
      if (isRefused(rotated)) return refuse('not_authenticated')
      isRotated = !rotated.raced
      return rotated.issued
    } finally {
      if (!isRotated) await refund()
    }
  }

  return (token: RefreshToken, request: FastifyRequest) => {
    const pending = exchanges.get(token.text) ?? exchange(token, request).finally(() => exchanges.delete(token.text))
    exchanges.set(token.text, pending)
    return pending
  }
}
