import type { Sql } from '../../platform/database/database.js'
import { databaseMoment, milliseconds, selectList } from '../../platform/database/sql.js'

type NewRequest = {
  id: string
  deviceCodeHash: Uint8Array
  userCodeHash: Uint8Array
  clientId: string
  scopes: readonly string[]
  origin: { ip: string; userAgent: string }
  lifetime: number
  interval: number
  clockOffset: number
}

/** No row if another request has the same user code. */
export const insertRequest = (sql: Sql, request: NewRequest) =>
  sql.query(
    `insert into device_requests
       (id, device_hash, user_hash, application_id, scopes, ip, user_agent, created_at, expires_at, poll_interval)
     values ($1, $2, $3, $4, $5, $6, $7, ${databaseMoment('$8')}, ${databaseMoment('$8')} + ${milliseconds('$9')}, $10)
     on conflict (user_hash) do nothing returning id`,
    [
      request.id,
      request.deviceCodeHash,
      request.userCodeHash,
      request.clientId,
      request.scopes,
      request.origin.ip,
      request.origin.userAgent,
      request.clockOffset,
      request.lifetime,
      request.interval,
    ],
  )

type DecidableRow = {
  id: string
  application_id: string
  scopes: string[]
  ip: string
  user_agent: string
  created_at: Date
  is_approved: boolean
}
const decidableColumns = selectList<DecidableRow>({
  id: true,
  application_id: true,
  scopes: true,
  ip: true,
  user_agent: true,
  created_at: true,
  // The only answer that a decidable request can have is an approval by this user.
  is_approved: 'answer is not null',
})

/** The condition for an approval that the device has not used yet. */
const isUnusedApproval = `answer = 'approved' and used_at is null`

/** The condition for a request that waits for its user. Uses parameters 1 and 2. */
const isOpen = `user_hash = $1 and answer is null and expires_at > ${databaseMoment('$2')}`

/**
 * The condition for a request that this user can decide about: it is open, or the user has approved it and can still take that back. Uses
 * parameters 1 to 3.
 */
const isDecidable = `user_hash = $1 and expires_at > ${databaseMoment('$2')}
  and (answer is null or (${isUnusedApproval} and user_id = $3))`

export const selectDecidable = (sql: Sql, userCodeHash: Uint8Array, userId: string, clockOffset: number) =>
  sql.query<DecidableRow>(`select ${decidableColumns} from device_requests where ${isDecidable}`, [
    userCodeHash,
    clockOffset,
    userId,
  ])

type Answerer = { userId: string; sessionId: string }

/** Approves the request. Of several answers at once, only one gets a row. */
export const setApproved = (sql: Sql, userCodeHash: Uint8Array, { userId, sessionId }: Answerer, clockOffset: number) =>
  sql.query(`update device_requests set answer = 'approved', user_id = $3, sid = $4 where ${isOpen} returning id`, [
    userCodeHash,
    clockOffset,
    userId,
    sessionId,
  ])

/** No row if another answer was first, or the device already has its tokens. */
export const setDenied = (sql: Sql, userCodeHash: Uint8Array, { userId, sessionId }: Answerer, clockOffset: number) =>
  sql.query(`update device_requests set answer = 'denied', user_id = $3, sid = $4 where ${isDecidable} returning id`, [
    userCodeHash,
    clockOffset,
    userId,
    sessionId,
  ])

export type PolledRow = {
  id: string
  scopes: string[]
  answer: 'approved' | 'denied' | null
  user_id: string | null
  sid: string | null
  device_sid: string | null
  has_expired: boolean
  is_used: boolean
  is_just_used: boolean
  is_too_early: boolean
}
const polledColumns = selectList<PolledRow>({
  id: 'd.id',
  scopes: 'd.scopes',
  answer: 'd.answer',
  user_id: 'd.user_id',
  sid: 'd.sid',
  device_sid: 'd.device_sid',
  has_expired: 'held.has_expired',
  is_used: 'd.used_at is not null',
  is_just_used: `coalesce(d.used_at > ${databaseMoment('$3')} - ${milliseconds('$4')}, false)`,
  is_too_early: 'held.is_too_early',
})

type Poll = {
  deviceCodeHash: Uint8Array
  clientId: string
  clockOffset: number
  /** For how long a second use counts as a retry of the first. */
  retryWindow: number
  /** How much earlier than its interval a device may poll, in milliseconds: the network delays some polls more than others. */
  pollTolerance: number
  /** In seconds. */
  slowDownSeconds: number
}

/**
 * Notes a poll of a device. The row is locked meanwhile, so that two instances see the polls in one order. Only a device that still waits
 * is slowed down.
 */
export const pollRequest = (sql: Sql, poll: Poll) =>
  sql.query<PolledRow>(
    `with held as (
       select id, expires_at <= ${databaseMoment('$3')} as has_expired,
         answer is null and expires_at > ${databaseMoment('$3')} and coalesce(polled_at > ${databaseMoment('$3')}
           - poll_interval * interval '1 second' + ${milliseconds('$5')}, false) as is_too_early
       from device_requests where device_hash = $1 and application_id = $2 for update
     )
     update device_requests as d set polled_at = ${databaseMoment('$3')},
       poll_interval = d.poll_interval + case when held.is_too_early then $6::int else 0 end
     from held where d.id = held.id returning ${polledColumns}`,
    [poll.deviceCodeHash, poll.clientId, poll.clockOffset, poll.retryWindow, poll.pollTolerance, poll.slowDownSeconds],
  )

/** Uses an approval up. Of several uses at once, only one gets a row. */
export const setUsed = (sql: Sql, id: string, deviceSid: string, clockOffset: number) =>
  sql.query(
    `update device_requests set used_at = ${databaseMoment('$3')}, device_sid = $2
     where id = $1 and ${isUnusedApproval} and expires_at > ${databaseMoment('$3')} returning id`,
    [id, deviceSid, clockOffset],
  )
