import type { Sql } from '../../platform/database/database.js'
import type { Resource } from './resource.js'

const columns = {
  id: 'id',
  address: 'address',
  name: 'name',
  scopes: 'scopes',
  access: 'access',
  groups: 'groups',
  algorithm: 'algorithm',
  createdAt: 'created_at',
  setByFile: 'set_by_file',
} as const satisfies Record<keyof Resource, string>
const fields = Object.keys(columns) as (keyof Resource)[]
const read = fields.map((field) => `${columns[field]} as "${field}"`).join(', ')

const select = (sql: Sql, condition: string, parameters: readonly unknown[] = []) =>
  sql.query<Resource>(`select ${read} from resources ${condition}`, parameters)

const writtenValue = (resource: Resource, field: keyof Resource) =>
  field === 'scopes' ? JSON.stringify(resource.scopes) : resource[field]

export const selectByAddress = (sql: Sql, address: string) => select(sql, 'where address = $1', [address])
export const selectById = (sql: Sql, id: string) => select(sql, 'where id = $1', [id])
export const selectByName = (sql: Sql, name: string) =>
  select(sql, 'where lower(normalize(name, NFKC)) = lower(normalize($1, NFKC))', [name])
export const selectAll = (sql: Sql) => select(sql, 'order by lower(name)')

/** Locks the resource: no other command changes it before the transaction ends. New codes and tokens can still refer to it. */
export const lockById = (sql: Sql, id: string) => select(sql, 'where id = $1 for no key update', [id])

/** All of them, locked as above. */
export const lockAll = (sql: Sql) => select(sql, 'order by id for no key update')

/** No row if another resource has the address or the name. */
export const insert = (sql: Sql, resource: Resource) =>
  sql.query(
    `insert into resources (${fields.map((field) => columns[field]).join(', ')})
     values (${fields.map((_, index) => `$${index + 1}`).join(', ')}) on conflict do nothing returning id`,
    fields.map((field) => writtenValue(resource, field)),
  )

const changeable = fields.filter((field) => !['id', 'address', 'createdAt'].includes(field))

export const update = (sql: Sql, resource: Resource) =>
  sql.query(
    `update resources set ${changeable.map((field, index) => `${columns[field]} = $${index + 2}`).join(', ')} where id = $1`,
    [resource.id, ...changeable.map((field) => writtenValue(resource, field))],
  )

export const remove = (sql: Sql, id: string) => sql.query('delete from resources where id = $1', [id])
