import type { Sql } from '../platform/database/database.js'
import { databaseMoment, selectList } from '../platform/database/sql.js'

type SecretRow = { id: string; hash: Buffer; created_at: Date }
const columns = selectList<SecretRow>({ id: true, hash: true, created_at: true })

export const selectSecrets = (sql: Sql, applicationId: string) =>
  sql.query<SecretRow>(`select ${columns} from application_secrets where application_id = $1 order by created_at, id`, [
    applicationId,
  ])

export const selectHashes = (sql: Sql) =>
  sql.query<{ id: string; name: string; hash: Buffer }>(
    'select a.id, a.name, s.hash from application_secrets as s join applications as a on a.id = s.application_id',
  )

/** The time comes from the clock of the database: commands on two machines must agree on which secret is older. */
export const insertSecret = (
  sql: Sql,
  secret: { id: string; applicationId: string; hash: Buffer; clockOffset: number },
) =>
  sql.query(
    `insert into application_secrets (id, application_id, hash, created_at) values ($1, $2, $3, ${databaseMoment('$4')})`,
    [secret.id, secret.applicationId, secret.hash, secret.clockOffset],
  )

export const deleteSecret = (sql: Sql, applicationId: string, id: string) =>
  sql.query('delete from application_secrets where application_id = $1 and id = $2 returning id', [applicationId, id])
