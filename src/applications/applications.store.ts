import type { Sql } from '../platform/database/database.js'
import { databaseMoment, selectList } from '../platform/database/sql.js'
import type { Application } from './applications.js'

export type ApplicationRow = {
  id: string
  name: string
  home: string
  kind: Application['kind']
  redirect_addresses: string[]
  logout_addresses: string[]
  backchannel_logout: string | null
  access: Application['access']
  groups: string[]
  factors: 1 | 2
  /** In seconds. */
  max_age: number | null
  consent: Application['consent']
  pkce: boolean
  algorithm: Application['algorithm']
  device_flow: boolean
  created_at: Date
}

const applicationsColumns = selectList<ApplicationRow>({
  id: true,
  name: true,
  home: true,
  kind: true,
  redirect_addresses: true,
  logout_addresses: true,
  backchannel_logout: true,
  access: true,
  groups: true,
  factors: true,
  max_age: true,
  consent: true,
  pkce: true,
  algorithm: true,
  device_flow: true,
  created_at: true,
})

export const selectExists = (sql: Sql) =>
  sql.query<{ exist: boolean }>('select exists (select 1 from applications) as exist')

export const selectById = (sql: Sql, id: string) =>
  sql.query<ApplicationRow>(`select ${applicationsColumns} from applications where id = $1`, [id])

export const selectByName = (sql: Sql, name: string) =>
  sql.query<ApplicationRow>(`select ${applicationsColumns} from applications where lower(name) = lower($1)`, [name])

export const selectAll = (sql: Sql) =>
  sql.query<ApplicationRow>(`select ${applicationsColumns} from applications order by lower(name)`)

/** Locks the application: no other command changes it before the transaction ends. New codes and tokens can still refer to it. */
export const lockById = (sql: Sql, id: string) =>
  sql.query<ApplicationRow>(`select ${applicationsColumns} from applications where id = $1 for no key update`, [id])

const parametersOf = (row: ApplicationRow) => [
  row.id,
  row.name,
  row.home,
  row.kind,
  row.redirect_addresses,
  row.logout_addresses,
  row.backchannel_logout,
  row.access,
  row.groups,
  row.factors,
  row.max_age,
  row.consent,
  row.pkce,
  row.algorithm,
  row.device_flow,
]

/** No row if another application has the name. */
export const insert = (sql: Sql, row: ApplicationRow) =>
  sql.query(
    `insert into applications (id, name, home, kind, redirect_addresses, logout_addresses, backchannel_logout, access, groups,
       factors, max_age, consent, pkce, algorithm, device_flow, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16) on conflict do nothing returning id`,
    [...parametersOf(row), row.created_at],
  )

/** Updates a row that is locked. */
export const update = (sql: Sql, row: ApplicationRow) =>
  sql.query(
    `update applications set name = $2, home = $3, kind = $4, redirect_addresses = $5, logout_addresses = $6,
       backchannel_logout = $7, access = $8, groups = $9, factors = $10, max_age = $11, consent = $12, pkce = $13, algorithm = $14,
       device_flow = $15
     where id = $1`,
    parametersOf(row),
  )

export const remove = (sql: Sql, id: string) => sql.query('delete from applications where id = $1 returning id', [id])

type SecretRow = { id: string; hash: Buffer; created_at: Date }
const applicationSecretsColumns = selectList<SecretRow>({ id: true, hash: true, created_at: true })

export const selectSecrets = (sql: Sql, applicationId: string) =>
  sql.query<SecretRow>(
    `select ${applicationSecretsColumns} from application_secrets where application_id = $1 order by created_at, id`,
    [applicationId],
  )

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

type ErrorRow = { kind: string; message: string; count: number; seen_at: Date }
const applicationErrorsColumns = selectList<ErrorRow>({ kind: true, message: true, count: true, seen_at: true })

type NotedError = { applicationId: string; kind: string; message: string; count: number; seenAt: Date }

/** Writes an error, unless the application is gone. */
export const upsertError = (sql: Sql, { applicationId, kind, message, count, seenAt }: NotedError) =>
  sql.query(
    `insert into application_errors (application_id, message, count, seen_at, kind)
     select id, $2, $3, $4, $5 from applications where id = $1
     on conflict (application_id, message) do update
     set count = least(application_errors.count::bigint + excluded.count, 2147483647)::int,
         seen_at = greatest(application_errors.seen_at, excluded.seen_at)`,
    [applicationId, message, count, seenAt, kind],
  )

export const deleteOldErrors = (sql: Sql, applicationId: string, kind: string, maxKept: number) =>
  sql.query(
    `delete from application_errors where application_id = $1 and message in (
       select message from application_errors where application_id = $1 and kind = $2 order by seen_at desc, message offset $3)`,
    [applicationId, kind, maxKept],
  )

export const selectErrors = (sql: Sql, applicationId: string) =>
  sql.query<ErrorRow>(
    `select ${applicationErrorsColumns} from application_errors where application_id = $1 order by seen_at desc, message`,
    [applicationId],
  )
