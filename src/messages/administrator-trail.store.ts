import type { Sql } from '../platform/database/database.js'

/** The members of the group of administrators who are not disabled, and the user who has acted, who may be of another group. */
export const selectMembersAnd = (sql: Sql, group: string, actorId: string) =>
  sql.query<{ id: string; email: string; username: string; is_member: boolean }>(
    `select id, email, username, groups @> array[$1::text] and disabled_at is null as is_member from users
     where (groups @> array[$1::text] and groups <> '{}' and disabled_at is null) or id = $2 order by id`,
    [group, actorId],
  )
