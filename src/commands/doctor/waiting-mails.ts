import { countText } from '../../lib/text.js'
import type { Sql } from '../../platform/database/database.js'
import { type Finding, ok, warning } from './check.js'

const maxCounted = 10_000

/** Counts mails that the mail server did not take. It may answer the check `mail` and still refuse every mail. */
export const checkWaitingMails = async (sql: Sql): Promise<Finding> => {
  const [row] = await sql.query<{ failed: number }>(
    `select count(*)::int as failed from (
       select 1 from outgoing_mail where next_attempt_at is not null and last_error is not null limit $1
     ) as counted`,
    [maxCounted],
  )
  const failed = row?.failed ?? 0
  if (failed === 0) return ok('no mail waits after a failed attempt')
  const count = `${failed === maxCounted ? 'at least ' : ''}${countText(failed, 'mail waits', 'mails wait')}`
  return warning(`${count} after a failed attempt: \`latchkey mails list\` says why`)
}
