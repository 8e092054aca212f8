import { type Applications, applicationWithoutAccess, mayUse } from '../applications/applications.js'

import { type Clock, later } from '../lib/clock.js'
import { days } from '../lib/durations.js'
import type { StoredEvent } from '../messages/events.js'
import type { User } from '../users/users.js'
import type { Obstacle } from './obstacles.js'

type Dependencies = { clock: Clock; applications: Pick<Applications, 'findByName'> }

/** Finds applications that refused the user in the last day, and would refuse the user now. */
export const createApplicationObstacles =
  ({ clock, applications }: Dependencies) =>
  async ({ id, groups }: User, recentEvents: readonly StoredEvent[]): Promise<Obstacle[]> => {
    const since = later(clock.now(), -1 * days)
    const names = recentEvents
      .filter(({ kind, userId, createdAt }) => kind === 'application_refused' && userId === id && createdAt > since)
      .flatMap(({ reason }) => applicationWithoutAccess(reason) ?? [])
    const refusingApplications = await Promise.all([...new Set(names)].map(applications.findByName))
    return refusingApplications
      .filter((application) => application !== undefined)
      .filter((application) => !mayUse(application, groups))
      .map(({ name, groups: admittedGroups }) => ({
        code: 'no_access',
        message: `The user tried to use ${name}, and is in none of its groups: ${admittedGroups.join(', ') || 'it has none'}.`,
        subject: name,
        detail: admittedGroups.join(', '),
      }))
  }
