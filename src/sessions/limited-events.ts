import type { FastifyRequest } from 'fastify'
import { type LimiterName, limiters } from '../http/limiters.js'
import { createOncePerWindow } from '../http/limits.js'
import { clientOf } from '../http/request-origin.js'

import type { Clock } from '../lib/clock.js'
import type { Events } from '../messages/events.js'

/** Finds the user at whose account an attempt was aimed; only the typed name if no user has it. */
export type FindAttemptedUser = () => Promise<{ userId: string | undefined; typedName: string }>

export type Rejection = {
  limiter: LimiterName
  key: string
  resetsIn: number
  findAttemptedUser?: FindAttemptedUser | undefined
}
export type OnRejection = (rejection: Rejection, request: FastifyRequest) => Promise<void>

/** At most so many counters are remembered. Events of further ones would say nothing new. */
const maxKeys = 10_000

/**
 * Records one event for each counter (a limiter with its subject, such as a client network) and window, however many requests are refused.
 * So no client can fill the table: before each event, a whole limit must be used up.
 */
export const createLimitedEvents = ({ events, clock }: { events: Pick<Events, 'record'>; clock: Clock }) => {
  const isNew = createOncePerWindow({ maxKeys, clock })

  /** The refusal stays a refusal when the database is away. */
  const findSafely = (findAttemptedUser: FindAttemptedUser | undefined) => findAttemptedUser?.().catch(() => undefined)

  return async ({ limiter, key, resetsIn, findAttemptedUser }: Rejection, request: FastifyRequest) => {
    const { refusalIsEvent, countsBy } = limiters[limiter]
    if (!refusalIsEvent || !isNew(key, resetsIn)) return
    // The client that happens to be one too many is not the cause.
    if (countsBy.some((subject) => subject === 'installation'))
      return events.record({ kind: 'ceiling_reached', reason: limiter }, { ip: '', userAgent: '' })
    const { userId, typedName } = (await findSafely(findAttemptedUser)) ?? {}
    await events.record(
      { kind: 'rate_limited', reason: limiter, ...(userId !== undefined && { userId }) },
      { ...clientOf(request), ...(typedName !== undefined && { typedName }) },
    )
  }
}
