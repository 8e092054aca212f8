import type { Sql } from '../platform/database/database.js'

/** The members of the group of administrators who are not disabled. */
export const selectMembers = (sql: Sql, group: string) =>
  sql.query<{ id: string; email: string; username: string }>(
    "select id, email, username from users where groups @> array[$1::text] and groups <> '{}' and disabled_at is null order by id",
    [group],
  )
