import type { Sql } from '../../platform/database/database.js'
import { databaseNow, milliseconds } from '../../platform/database/sql.js'

/** The copy of a document, and whether it is still good without asking again, or while nobody can be asked. */
export const selectCopy = (sql: Sql, document: string, clockOffset: number) =>
  sql.query<{ is_fresh: boolean; is_usable: boolean }>(
    `select d.fresh_until > ${databaseNow('$2')} as is_fresh, d.usable_until > ${databaseNow('$2')} as is_usable
     from client_documents as d join applications as a on a.id = d.application_id where a.document = $1`,
    [document, clockOffset],
  )

type Copy = {
  id: string
  document: string
  name: string
  home: string
  redirectAddresses: readonly string[]
  now: Date
  freshFor: number
  usableFor: number
  clockOffset: number
}

/** Writes the copy. A program of a document is for everyone: whom it may act for, the rules of resources say. */
export const upsertCopy = (sql: Sql, copy: Copy) =>
  sql.query<{ id: string }>(
    `with copy as (
       insert into applications
         (id, document, name, home, kind, redirect_addresses, access, consent, pkce, algorithm, device_flow, tokens, created_at)
       values ($1, $2, $3, $4, 'document', $5, 'everyone', 'ask', true, 'RS256', false, false, $6)
       on conflict (document) do update set name = excluded.name, redirect_addresses = excluded.redirect_addresses
       returning id
     )
     insert into client_documents (application_id, fetched_at, fresh_until, usable_until)
     select id, ${databaseNow('$7')}, ${databaseNow('$7')} + ${milliseconds('$8')}, ${databaseNow('$7')} + ${milliseconds('$9')} from copy
     on conflict (application_id) do update
     set fetched_at = excluded.fetched_at, fresh_until = excluded.fresh_until, usable_until = excluded.usable_until
     returning application_id as id`,
    [
      copy.id,
      copy.document,
      copy.name,
      copy.home,
      copy.redirectAddresses,
      copy.now,
      copy.clockOffset,
      copy.freshFor,
      copy.usableFor,
    ],
  )

/** The documents whose programs have a session or a code. */
export const selectUsed = (sql: Sql) =>
  sql.query<{ id: string; document: string }>(
    `select a.id, a.document from applications as a
     where a.kind = 'document' and exists (select 1 from application_sessions as s where s.application_id = a.id)`,
  )

/** Deletes copies that nobody has used for this long. */
export const deleteUnused = (sql: Sql, unusedFor: number, limit: number, clockOffset: number) =>
  sql.query(
    `delete from applications where id in (
       select a.id from applications as a join client_documents as d on d.application_id = a.id
       where d.fetched_at < ${databaseNow('$3')} - ${milliseconds('$1')}
         and not exists (select 1 from application_sessions as s where s.application_id = a.id)
         and not exists (select 1 from authorization_requests as q
           where q.application_id = a.id and q.used_at is null and q.expires_at > ${databaseNow('$3')})
       limit $2) returning id`,
    [unusedFor, limit, clockOffset],
  )
