import type { FastifyRequest } from 'fastify'
import { isRefused, type Refused, refuse } from '../../contract/outcome.js'
import type { Rotations } from '../../domain/sessions/rotations.js'
import type { Issued } from '../../domain/sessions/sessions.js'
import type { RefreshToken } from '../../domain/tokens/tokens.js'
import { clientOf } from '../../http/client.js'
import type { Limits } from '../../http/limits.js'

type Renewed = Issued | Refused<'not_authenticated' | 'unavailable'>

const mostEndedTokens = 10_000

/**
 * Refresh tokens of sessions that have ended. A browser may go on sending one with every part of a page, and a session does not
 * come back: the database is asked once.
 */
const createEndedTokens = () => {
  const texts = new Set<string>()
  return {
    has: (text: string) => texts.has(text),
    add: (text: string) => {
      const [oldest] = texts
      if (texts.size >= mostEndedTokens && oldest !== undefined) texts.delete(oldest)
      texts.add(text)
    },
  }
}

export type Renewal = ReturnType<typeof createRenewal>

/**
 * New tokens for a request that came through a proxy. A page sends many requests at once, all with the same refresh token: those
 * that arrive while the token is being exchanged share one exchange. Only a rotation counts in the limit of refreshes, so that
 * the many requests of one page are one.
 */
export const createRenewal = ({ rotate, limits }: { rotate: Rotations; limits: Limits }) => {
  const underWay = new Map<string, Promise<Renewed>>()
  const ended = createEndedTokens()

  const exchange = async (token: RefreshToken, request: FastifyRequest): Promise<Renewed> => {
    const { granted, refund } = await limits.reserveRotation(request)
    if (!granted) return refuse('unavailable')
    let isRotated = false
    try {
      const rotated = await rotate(token, clientOf(request), 'proxy')
      if (isRefused(rotated)) {
        // A token that was only replaced may have been stolen: it is looked at again, and found out.
        if (rotated.refused !== 'replaced') ended.add(token.text)
        return refuse('not_authenticated')
      }
      isRotated = !rotated.raced
      return rotated.issued
    } finally {
      if (!isRotated) await refund()
    }
  }

  return async (token: RefreshToken, request: FastifyRequest) => {
    if (ended.has(token.text)) return refuse('not_authenticated')
    const started = underWay.get(token.text) ?? exchange(token, request).finally(() => underWay.delete(token.text))
    underWay.set(token.text, started)
    return started
  }
}
