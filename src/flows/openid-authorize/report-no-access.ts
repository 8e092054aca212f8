import { noAccessReason } from '../../domain/applications/no-access.js'
import type { SignedInUser } from '../../domain/authorization-requests/next-question.js'
import type { Events } from '../../domain/events/events.js'
import { createOncePerWindow } from '../../http/once-per-window.js'
import type { Clock } from '../../lib/clock.js'
import { minutes } from '../../lib/durations.js'
import type { Asking } from './asking.js'

export type ReportNoAccess = ReturnType<typeof createReportNoAccess>

type Dependencies = { events: Pick<Events, 'record'>; clock: Clock }

/** A program that sends its user back here again and again is one event. */
const reportWindow = 15 * minutes
const maxReported = 1_000

/** So that operators who are asked why a user cannot use an application find it among the user's events. */
export const createReportNoAccess = ({ events, clock }: Dependencies) => {
  const isNew = createOncePerWindow({ maxKeys: maxReported, clock })
  return async ({ application, visitor }: Asking, { id: userId }: SignedInUser) => {
    if (!isNew(`${application.id} ${userId}`, reportWindow)) return
    const sessionId = visitor.caller?.sessionId
    const reason = noAccessReason(application.name)
    await events.record(
      { kind: 'application_refused', userId, ...(sessionId !== undefined && { sessionId }), reason },
      visitor.client,
    )
  }
}
