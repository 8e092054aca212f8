import type { Sql } from '../platform/database/database.js'
import { selectList } from '../platform/database/sql.js'
import type { Application } from './application.js'

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

const columns = selectList<ApplicationRow>({
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
  sql.query<ApplicationRow>(`select ${columns} from applications where id = $1`, [id])

export const selectByName = (sql: Sql, name: string) =>
  sql.query<ApplicationRow>(`select ${columns} from applications where lower(name) = lower($1)`, [name])

export const selectAll = (sql: Sql) =>
  sql.query<ApplicationRow>(`select ${columns} from applications order by lower(name)`)

/** Locks the application: no other command changes it before the transaction ends. New codes and tokens can still refer to it. */
export const lockById = (sql: Sql, id: string) =>
  sql.query<ApplicationRow>(`select ${columns} from applications where id = $1 for no key update`, [id])

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
