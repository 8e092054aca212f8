import type { Sql } from '../../platform/database/database.js'
import { type Finding, ok, warning } from './check.js'

/** Names the limits of the whole installation that were reached lately. An attack may be the cause, or more users than before. */
export const checkCeilings = async (sql: Sql): Promise<Finding> => {
  const rows = await sql.query<{ reason: string }>(
    `select distinct reason from events
     where kind = 'ceiling_reached' and id >= first_event_id((now() - interval '1 day') at time zone 'utc') order by reason`,
  )
  return rows.length === 0
    ? ok('no limit of the whole service was reached in the last 24 hours')
    : warning(
        `reached in the last 24 hours: ${rows.map(({ reason }) => reason).join(', ')}. If it was no attack, raise the setting that docs/api.md names for the limiter`,
      )
}
