import type { Sql } from '../platform/database/database.js'

export const selectScopes = (sql: Sql, userId: string, applicationId: string) =>
  sql.query<{ scopes: string[] }>('select scopes from consents where user_id = $1 and application_id = $2', [
    userId,
    applicationId,
  ])

export const addScopes = (
  sql: Sql,
  consent: { userId: string; applicationId: string; scopes: readonly string[]; now: Date },
) =>
  sql.query(
    `insert into consents (user_id, application_id, scopes, given_at) values ($1, $2, $3, $4)
     on conflict (user_id, application_id) do update
     set given_at = excluded.given_at,
         scopes = array(select distinct unnest(consents.scopes || excluded.scopes) order by 1)`,
    [consent.userId, consent.applicationId, consent.scopes, consent.now],
  )
