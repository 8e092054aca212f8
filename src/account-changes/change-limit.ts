import { isRefused, type Refused, refuse } from '../contract/outcome.js'
import { type LimiterName, limiterKey, limiters, userSubject } from '../http/limiters.js'
import { seconds } from '../lib/durations.js'
import type { Cache } from '../platform/cache/cache.js'

type Dependencies = { cache: Pick<Cache, 'reserve' | 'refund'>; onLimited: (limiter: LimiterName) => void }

export type ChangeLimit = ReturnType<typeof createChangeLimit>
export type LimitRefusal = Refused<'too_many_requests'> & { retryAfter: number }

/**
 * Limits the changes that mail the owner. A stolen session must not flood the owner with notices, among which the important one is missed.
 */
export const createChangeLimit = ({ cache, onLimited }: Dependencies) => {
  const reserve = async (userId: string) => {
    const key = limiterKey('account_changes', userSubject(userId))
    const { granted, resetsIn, window } = await cache.reserve(key, limiters.account_changes.limit)
    if (granted) return { refund: () => cache.refund([{ key, window }]) }
    onLimited('account_changes')
    return refuse('too_many_requests', { retryAfter: Math.max(1, Math.ceil(resetsIn / seconds)) })
  }

  /**
   * Counts a change before it is made, so that parallel requests cannot exceed the limit. A change that sends no mail is not counted in the
   * end.
   */
  return async <Outcome extends { isMailed: boolean } | Refused>(
    userId: string,
    change: () => Promise<Outcome>,
  ): Promise<Outcome | LimitRefusal> => {
    const reservation = await reserve(userId)
    if (isRefused(reservation)) return reservation
    let isMailed = false
    try {
      const outcome = await change()
      isMailed = 'isMailed' in outcome && outcome.isMailed
      return outcome
    } finally {
      if (!isMailed) await reservation.refund()
    }
  }
}
