import { limiters } from '../http/limiters.js'
import type { Rejection } from '../http/limits.js'
import type { Client } from '../http/request-origin.js'
import type { Clock } from '../lib/clock.js'
import { createOncePerWindow } from '../lib/recent.js'
import type { Events } from './events.js'

/** At most so many counters are remembered. Events of further ones would say nothing new. */
const maxKeys = 10_000

/**
 * Records one event for each counter (a limiter with its subject, such as a client network) and window, however many requests are refused.
 * So no client can fill the table: before each event, a whole limit must be used up.
 */
export const createLimitEvents = (events: Events, clock: Clock) => {
  const isNew = createOncePerWindow({ maxKeys, clock })

  return async ({ limiter, key, resetsIn, findAttemptedUser }: Rejection, client: Client) => {
    const { refusalIsEvent, countsBy } = limiters[limiter]
    if (!refusalIsEvent || !isNew(key, resetsIn)) return
    // The client that happens to be one too many is not the cause.
    if (countsBy.some((subject) => subject === 'installation'))
      return events.record({ kind: 'ceiling_reached', reason: limiter }, { ip: '', userAgent: '' })
    // The refusal stays a refusal when the database is away.
    const { userId, typedName } = (await findAttemptedUser?.().catch(() => undefined)) ?? {}
    await events.record(
      { kind: 'rate_limited', reason: limiter, ...(userId !== undefined && { userId }) },
      { ...client, ...(typedName !== undefined && { typedName }) },
    )
  }
}
