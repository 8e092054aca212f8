import { countText } from '../../lib/text.js'
import type { Database } from '../../platform/database/database.js'
import { type Finding, ok, warning, worstOf } from './check.js'

const megabyte = 1024 * 1024
/** If `events_other` is larger, the service makes no further months (`make_event_months`). */
const maxOtherBytes = 256 * megabyte

/** Checks that the table of events has partitions for this month and the next, and how much stands outside of all months. */
export const checkEventMonths = async (database: Database): Promise<Finding> => {
  const [found] = await database.query<{ missing: string | null; months: number; other: number }>(
    `with wanted as (
       select month, first_event_id(month) as first_id
       from date_trunc('month', now() at time zone 'utc') as this_month,
         unnest(array[this_month, this_month + interval '1 month']) as month
     )
     select (select string_agg(to_char(month, 'YYYY-MM'), ' and ' order by month) from wanted as w
              where not exists (select from event_months() as m where m.first_id <= w.first_id and w.first_id < m.end_id)) as missing,
       (select count(*) from event_months()) as months,
       pg_relation_size('events_other') as other`,
  )
  const { missing = null, months = 0, other = 0 } = found ?? {}
  const size = `${Math.ceil(other / megabyte)} MB`
  return worstOf(`in ${countText(months, 'part')} by month, ${other > 0 ? size : 'nothing'} outside of them`, [
    missing === null
      ? ok('')
      : warning(`no part for ${missing}: events are written to events_other, which the service purges row by row`),
    other > maxOtherBytes
      ? warning(
          `events_other has ${size}, so the service makes no months: as the owner, run select make_event_months(4)`,
        )
      : ok(''),
  ])
}
