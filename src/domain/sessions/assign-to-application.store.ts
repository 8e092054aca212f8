import type { Sql } from '../../platform/database/database.js'

export const setApplication = (sql: Sql, id: string, applicationId: string) =>
  sql.query('update sessions set application_id = $2 where id = $1', [id, applicationId])
