import type { Sql } from '../platform/database/database.js'
import { selectList } from '../platform/database/sql.js'

type AgreedRow = { version: string; agreed_at: Date }

export const selectAgreed = (sql: Sql, userId: string, version: string) =>
  sql.query('select 1 from agreed_terms where user_id = $1 and version = $2', [userId, version])

/** An agreement that exists keeps its time. */
export const insertAgreed = (sql: Sql, userId: string, version: string, at: Date) =>
  sql.query(
    'insert into agreed_terms (user_id, version, agreed_at) values ($1, $2, $3) on conflict (user_id, version) do nothing',
    [userId, version, at],
  )

export const selectAllOfUser = (sql: Sql, userId: string) =>
  sql.query<AgreedRow>(
    `select ${selectList<AgreedRow>({ version: true, agreed_at: true })} from agreed_terms
     where user_id = $1 order by agreed_at, version`,
    [userId],
  )
