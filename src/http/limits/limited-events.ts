import type { FastifyRequest } from 'fastify'
import type { Events } from '../../domain/events/events.js'
import { type LimiterName, limiters } from '../../domain/limiters/limiters.js'
import type { Clock } from '../../lib/clock.js'
import { clientOf } from '../client.js'
import { createOncePerWindow } from '../once-per-window.js'

/** Finds out whose attempt it was: the user, or only the typed name if no user has it. */
export type FindSubject = () => Promise<{ userId: string | undefined; typedName: string }>

export type Rejection = { limiter: LimiterName; key: string; resetsIn: number; findSubject?: FindSubject | undefined }
export type OnRejection = (rejection: Rejection, request: FastifyRequest) => Promise<void>

/** At most so many client networks are remembered. Events of further ones would say nothing new. */
const maxKeys = 10_000

/**
 * One event for each limiter, client network and window, however many requests are refused. So no client can
 * fill the table: each event needs a client network that has used its whole limit.
 */
export const createLimitedEvents = ({ events, clock }: { events: Pick<Events, 'record'>; clock: Clock }) => {
  const isNew = createOncePerWindow({ maxKeys, clock })

  /** The refusal stays a refusal when the database is away. */
  const findSafely = (findSubject: FindSubject | undefined) => findSubject?.().catch(() => undefined)

  return async ({ limiter, key, resetsIn, findSubject }: Rejection, request: FastifyRequest) => {
    if (!limiters[limiter].isEvent || !isNew(key, resetsIn)) return
    const { userId, typedName } = (await findSafely(findSubject)) ?? {}
    await events.record(
      { kind: 'rate_limited', reason: limiter, ...(userId !== undefined && { userId }) },
      { ...clientOf(request), ...(typedName !== undefined && { typedName }) },
    )
  }
}
