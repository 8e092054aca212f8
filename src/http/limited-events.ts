import type { FastifyRequest } from 'fastify'
import type { Events } from '../domain/events/events.js'
import type { Clock } from '../lib/clock.js'
import { clientOf } from './client.js'

export type Rejection = { limiter: string; key: string; resetsIn: number }

/** The limits that can prevent a sign-in; the others are only in the log and the metrics. */
const worthAnEvent = new Set(['login', 'account', 'confirm', 'sensitive'])

/** With so many client networks at once, further events would say nothing new. */
const mostKeys = 10_000

/**
 * One event for each limiter, client network and window, however many requests are refused. So no client can
 * fill the table: each event needs a client network that has used its whole limit.
 */
export const createLimitedEvents = ({ events, clock }: { events: Pick<Events, 'record'>; clock: Clock }) => {
  const reportedUntil = new Map<string, number>()

  const isNew = (key: string, now: number) => {
    if ((reportedUntil.get(key) ?? 0) > now) return false
    if (reportedUntil.size >= mostKeys) {
      for (const [old, until] of reportedUntil) if (until <= now) reportedUntil.delete(old)
    }
    return reportedUntil.size < mostKeys
  }

  return async ({ limiter, key, resetsIn }: Rejection, request: FastifyRequest) => {
    const now = clock.now().getTime()
    if (!worthAnEvent.has(limiter) || !isNew(key, now)) return
    reportedUntil.set(key, now + resetsIn)
    await events.record({ kind: 'rate_limited', reason: limiter }, clientOf(request))
  }
}
