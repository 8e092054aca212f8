import type { Sql } from '../database/database.js'

/** Beyond this many the exact number changes nothing about what has to be done. */
const countedUpTo = 10_000

/** Mails that no mail server has taken yet. Reads only the index of what is due. */
export const countWaitingMails = (sql: Sql) =>
  sql.query<{ waiting: number }>(
    `select count(*) as waiting from (
       select 1 from outgoing_mail where next_attempt_at is not null limit $1
     ) as due`,
    [countedUpTo],
  )
