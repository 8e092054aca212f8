import { noAccessReason } from '../../applications/applications.js'
import { createOncePerWindow } from '../../http/limits.js'
import type { Clock } from '../../lib/clock.js'
import { minutes } from '../../lib/durations.js'
import type { Events } from '../../messages/events.js'
import type { SignedInUser } from './next-question.js'
import type { PendingRequest } from './pending-request.js'

export type ReportNoAccess = ReturnType<typeof createReportNoAccess>

type Dependencies = { events: Pick<Events, 'record'>; clock: Clock }

/** A program that sends its user back again and again causes one event in this time. */
const reportWindow = 15 * minutes
const maxReported = 1_000

/** Records that a user has no access, so that operators find among the user's events why an application cannot be used. */
export const createReportNoAccess = ({ events, clock }: Dependencies) => {
  const isNew = createOncePerWindow({ maxKeys: maxReported, clock })
  return async ({ application, visitor }: PendingRequest, { id: userId }: SignedInUser) => {
    if (!isNew(`${application.id} ${userId}`, reportWindow)) return
    const sessionId = visitor.caller?.sessionId
    const reason = noAccessReason(application.name)
    await events.record(
      { kind: 'application_refused', userId, ...(sessionId !== undefined && { sessionId }), reason },
      visitor.client,
    )
  }
}
