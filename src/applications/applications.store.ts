import type { Sql } from '../platform/database/database.js'
import { databaseMoment, selectList } from '../platform/database/sql.js'
import { applicationFrom, columns, fields, type Row, rowFrom } from './application-row.js'
import type { Application } from './application-rules.js'

const written = fields.map((field) => columns[field]).join(', ')
const read = fields.map((field) => `${columns[field]} as "${field}"`).join(', ')

const select = async (sql: Sql, condition: string, parameters: readonly unknown[] = []) =>
  (await sql.query<Row>(`select ${read} from applications ${condition}`, parameters)).map(applicationFrom)

/** Copies of documents do not count: nobody has registered them. */
export const selectExists = (sql: Sql) =>
  sql.query<{ exist: boolean }>(
    `select exists (select 1 from applications where kind <> 'document') or exists (select 1 from resources) as exist`,
  )

/** By the `client_id`: the id, or the address of the document. */
export const selectById = (sql: Sql, id: string) => select(sql, 'where id = $1 or document = $1', [id])

/** `version` is another one after every change of the row. */
type RowWithSecrets = Row & { version: string; hashes: Buffer[] }
const withSecrets = `select ${read}, xmin::text as version,
  array(select s.hash from application_secrets as s where s.application_id = applications.id) as hashes from applications`
const withSecretsFrom = ({ version, hashes, ...row }: RowWithSecrets) => ({
  application: applicationFrom(row),
  version,
  hashes,
})

const oneWithSecrets = `${withSecrets} where id = $1 or document = $1`

/** The application, with the hashes of its secrets. */
export const selectWithSecrets = async (sql: Sql, id: string) =>
  (await sql.query<RowWithSecrets>(oneWithSecrets, [id])).map(withSecretsFrom)

/** The same of every application. */
export const selectAllWithSecrets = async (sql: Sql) =>
  (await sql.query<RowWithSecrets>(withSecrets)).map(withSecretsFrom)

export const selectByName = (sql: Sql, name: string) =>
  select(sql, `where lower(normalize(name, NFKC)) = lower(normalize($1, NFKC)) and kind <> 'document'`, [name])

type IconRow = { id: string; version: string }

/** The icons, each with a text that changes with it. */
export const selectIcons = (sql: Sql) =>
  sql.query<IconRow>(
    "select application_id as id, left(encode(sha256(png), 'hex'), 16) as version from application_icons",
  )

export const selectIconVersion = (sql: Sql, applicationId: string) =>
  sql.query<{ version: string }>(
    "select left(encode(sha256(png), 'hex'), 16) as version from application_icons where application_id = $1",
    [applicationId],
  )

export const selectIcon = (sql: Sql, applicationId: string) =>
  sql.query<{ png: Buffer }>('select png from application_icons where application_id = $1', [applicationId])

export const upsertIcon = (sql: Sql, applicationId: string, png: Uint8Array) =>
  sql.query(
    `insert into application_icons (application_id, png) values ($1, $2)
     on conflict (application_id) do update set png = excluded.png`,
    [applicationId, png],
  )

export const deleteIcon = (sql: Sql, applicationId: string) =>
  sql.query('delete from application_icons where application_id = $1 returning application_id', [applicationId])

export const selectByOrigin = (sql: Sql, origin: string) => select(sql, 'where proxy_origin = $1', [origin])

export const selectProtected = (sql: Sql) => select(sql, 'where proxy_origin is not null')

export const selectAll = (sql: Sql) => select(sql, 'order by lower(name)')

/** Locks the application: no other command changes it before the transaction ends. New codes and tokens can still refer to it. */
export const lockById = (sql: Sql, id: string) => select(sql, 'where id = $1 for no key update', [id])

/** Takes the sites of these applications away, so that one can get the site of another in the same transaction. */
export const clearOrigins = (sql: Sql, ids: readonly string[]) =>
  sql.query('update applications set proxy_origin = null where id = any($1)', [ids])

/** The same for all of them. */
export const lockAll = (sql: Sql) => select(sql, `where kind <> 'document' order by id for no key update`)

/** No row if another application has the name. */
export const insert = (sql: Sql, application: Application) => {
  const row = rowFrom(application)
  return sql.query(
    `insert into applications (${written}) values (${fields.map((_, index) => `$${index + 1}`).join(', ')})
     on conflict do nothing returning id`,
    fields.map((field) => row[field]),
  )
}

const changeable = fields.filter((field) => !['id', 'document', 'createdAt'].includes(field))

/** Updates a row that is locked. */
export const update = (sql: Sql, application: Application) => {
  const row = rowFrom(application)
  return sql.query(
    `update applications set ${changeable.map((field, index) => `${columns[field]} = $${index + 2}`).join(', ')} where id = $1`,
    [row.id, ...changeable.map((field) => row[field])],
  )
}

export const remove = (sql: Sql, id: string) => sql.query('delete from applications where id = $1 returning id', [id])

type SecretRow = { id: string; hash: Buffer; created_at: Date }
const secretColumns = selectList<SecretRow>({ id: true, hash: true, created_at: true })

export const selectSecrets = (sql: Sql, applicationId: string) =>
  sql.query<SecretRow>(
    `select ${secretColumns} from application_secrets where application_id = $1 order by created_at, id`,
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
const errorColumns = selectList<ErrorRow>({ kind: true, message: true, count: true, seen_at: true })

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
    `select ${errorColumns} from application_errors where application_id = $1 order by seen_at desc, message`,
    [applicationId],
  )
