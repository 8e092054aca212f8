import type { FastifyRequest } from 'fastify'
import type { EventKind } from '../contract/events.js'
import type { Clock } from '../lib/clock.js'
import { minutes } from '../lib/durations.js'
import type { Events } from '../messages/events.js'
import type { AdminGuard } from './admin-guard.js'

type Reading = {
  kind: Extract<EventKind, 'user_viewed' | 'users_searched' | 'events_searched'>
  userId?: string | undefined
  /** The names of the filters. What is searched for may be the address of someone who has no account. */
  filters?: Readonly<Record<string, string | undefined>>
}

/** Who looks at the same again in this time leaves no further event: a screen that follows events asks every five seconds. */
const window = 15 * minutes
const maxRemembered = 10_000

type Dependencies = {
  events: Pick<Events, 'recordReading'>
  adminGuard: Pick<AdminGuard, 'actingClient'>
  clock: Clock
}

export type ReadingTrail = ReturnType<typeof createReadingTrail>

/**
 * Records who has looked at what. If the event cannot be written, the request fails: administrators read nothing without a trace. Every page
 * of a list counts, because anyone can make up a cursor and begin with another page than the first.
 */
export const createReadingTrail = ({ events, adminGuard, clock }: Dependencies) => {
  const recordedUntil = new Map<string, number>()

  return async (request: FastifyRequest, { kind, userId, filters = {} }: Reading) => {
    const client = adminGuard.actingClient(request)
    const usedFilters = Object.keys(filters).filter((name) => filters[name])
    const reason = usedFilters.length > 0 ? usedFilters.sort().join(' ') : undefined
    const reading = [client.actor?.userId, kind, userId, reason].join(' ')
    const now = clock.now().getTime()
    if ((recordedUntil.get(reading) ?? 0) > now) return
    // Then some readings leave a second event. None is left out.
    if (recordedUntil.size >= maxRemembered) recordedUntil.clear()
    await events.recordReading({ kind, ...(userId && { userId }), ...(reason && { reason }) }, client)
    recordedUntil.set(reading, now + window)
  }
}
