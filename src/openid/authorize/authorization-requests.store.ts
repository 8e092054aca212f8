import type { Sql } from '../../platform/database/database.js'
import { databaseMoment, databaseNow, milliseconds, selectList } from '../../platform/database/sql.js'

export type RequestRow = {
  application_id: string
  parameters: unknown
  user_id: string | null
  created_at: Date
}
const columns = selectList<RequestRow>({ application_id: true, parameters: true, user_id: true, created_at: true })

/** A request that waits for its user, in the browser that began it. Uses parameters 1 to 3. */
const isOpen = `hash = $1 and browser_hash = $2 and used_at is null and expires_at > ${databaseNow('$3')}`
export type OpenRequestKey = { hash: Uint8Array; browserHash: Uint8Array; clockOffset: number }
const keyValues = ({ hash, browserHash, clockOffset }: OpenRequestKey) => [hash, browserHash, clockOffset]

export const insertRequest = (
  sql: Sql,
  request: OpenRequestKey & { clientId: string; parameters: object; lifetime: number },
) =>
  sql.query<{ created_at: Date }>(
    `insert into authorization_requests (hash, browser_hash, application_id, parameters, created_at, expires_at)
     values ($1, $2, $4, $5, ${databaseMoment('$3')}, ${databaseNow('$3')} + ${milliseconds('$6')})
     returning created_at`,
    [...keyValues(request), request.clientId, request.parameters, request.lifetime],
  )

/** The moment at which a request begins that is not stored. */
export const selectMoment = (sql: Sql, clockOffset: number) =>
  sql.query<{ moment: Date }>(`select ${databaseMoment('$1')} as moment`, [clockOffset])

export const deleteSurplus = (sql: Sql, browserHash: Uint8Array, maxOpen: number) =>
  sql.query(
    `delete from authorization_requests where hash in (
       select hash from authorization_requests where browser_hash = $1 and used_at is null
       order by expires_at desc, hash offset $2)`,
    [browserHash, maxOpen],
  )

export const selectOpen = (sql: Sql, request: OpenRequestKey) =>
  sql.query<RequestRow>(`select ${columns} from authorization_requests where ${isOpen}`, keyValues(request))

/** `replaces`: the user also takes over a request that belongs to another user. */
export const setUser = (sql: Sql, request: OpenRequestKey, userId: string, replaces: boolean) =>
  sql.query(
    `update authorization_requests set user_id = $4
     where ${isOpen} and ($5 or user_id is null) returning user_id`,
    [...keyValues(request), userId, replaces],
  )

/** Marks the request as used. Of several answers at once, one succeeds. `userId` is null if no user has answered. */
export const setUsed = (sql: Sql, request: OpenRequestKey, userId: string | null) =>
  sql.query(
    `update authorization_requests set used_at = ${databaseNow('$3')}
     where ${isOpen} and (user_id is null or user_id is not distinct from $4::uuid) returning hash`,
    [...keyValues(request), userId],
  )
