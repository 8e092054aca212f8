import type { EventKind } from '../contract/events.js'
import type { Client } from '../http/request-origin.js'
import type { Sql } from '../platform/database/database.js'
import { databaseMoment, databaseNow, insertion, milliseconds, selectList } from '../platform/database/sql.js'
import { everyUser } from './ended-sessions.js'
import { type LiveAt, liveSession, momentsOf } from './live-sessions.js'
import type { Proof, ProofRow, SessionFacts } from './session-facts.js'

export type Rotation = {
  id: string
  generation: number
  presentedHash: Uint8Array
  successorHash: Uint8Array
  issuedAt: Date
  expiresAt: Date
  usedAt: Date
  clockOffset: number
  client: Client
}

/**
 * The user as it is now, if a session may begin: enabled and, if a hash is given, still with the password that was checked. The lock waits
 * for a change of the password or the email that is under way. A later change finds the new session. The lock also waits for other sign-ins
 * of the user, so that the sessions can be counted afterwards.
 */
export const lockUser = (
  sql: Sql,
  { id, passwordHash, undoCount }: { id: string; passwordHash: string | null; undoCount: number | null },
) =>
  sql.query<{ username: string }>(
    `select username from users
     where id = $1 and disabled_at is null and ($2::text is null or password_hash = $2)
       and ($3::int is null or undo_count = $3)
     for no key update`,
    [id, passwordHash, undoCount],
  )

/**
 * From when on tokens of a user are accepted, if all their sessions have ended a short time ago. The clock of the instance that signs may be
 * behind the one of the database.
 */
type AcceptedRow = { accepted_from: Date | null }
const acceptedFrom = (userId: string) =>
  `(select max(e.refused_before) from ended_sessions as e where e.sid in (${userId}, '${everyUser}') and e.refused_before is not null)`

const proofColumns = {
  methods: true,
  authenticated_at: true,
  second_factor_at: true,
} as const

/** The column of each fact. Only since when the session is fresh has columns of its own form. */
const columnOfFact = {
  methods: 'methods',
  provider: 'provider',
  trustedDevice: 'trusted_device',
} as const satisfies Record<Exclude<keyof SessionFacts, 'freshSince'>, string>

type FactColumns = { [Fact in keyof typeof columnOfFact as (typeof columnOfFact)[Fact]]: SessionFacts[Fact] }

const factColumns = Object.fromEntries(Object.values(columnOfFact).map((column) => [column, `r.${column}`])) as {
  [Column in keyof FactColumns]: string
}

const columnsOf = (facts: SessionFacts) =>
  Object.fromEntries(
    Object.entries(columnOfFact).map(([fact, column]) => [column, facts[fact as keyof typeof columnOfFact]]),
  ) as FactColumns

/**
 * The facts of a session, and the columns from which the claims of its access token are made, as they are now. Every statement that gives
 * tokens returns them.
 */
export type HolderRow = ProofRow &
  FactColumns &
  AcceptedRow & { username: string; email: string; name: string | null; groups: string[] }
const holderColumns = {
  username: 'u.username',
  email: 'u.email',
  name: 'u.name',
  // The groups come from the session and not from the user: a statement that has waited for the session still sees the former row of the
  // user.
  groups: 'r.groups',
  accepted_from: acceptedFrom('u.id'),
  ...proofColumns,
  ...factColumns,
} as const

/** A session that begins. Every column of it is written, so a fact that is not stored does not compile. */
type NewSessionRow = FactColumns & {
  id: string
  user_id: string
  token_hash: Uint8Array
  generation: number
  issued_at: Date
  /** The offset of the clock: the column gets the moment of the database. */
  rotated_at: number
  expires_at: Date
  ip: string
  user_agent: string
  browser: string | null
  created_at: Date
  last_used_at: Date
  authenticated_at: Date
  second_factor_at: Date | null
  /** The offset of the clock, less the age of the proof in milliseconds. */
  proof_moment: number
  second_factor_required: boolean
  signed_in_as: string
  application_id: string | null
}

const newSession = insertion<NewSessionRow>('sessions', {
  id: true,
  user_id: true,
  token_hash: true,
  generation: true,
  issued_at: true,
  rotated_at: databaseNow,
  expires_at: true,
  ip: true,
  user_agent: true,
  browser: true,
  created_at: true,
  last_used_at: true,
  methods: true,
  authenticated_at: true,
  second_factor_at: true,
  proof_moment: databaseMoment,
  trusted_device: true,
  provider: true,
  second_factor_required: true,
  signed_in_as: true,
  application_id: true,
})

/**
 * A trigger inserts nothing if a second factor is needed, the methods have none, and no trusted device replaces it. Another trigger gives
 * the session the groups of its user.
 */
export const insertRecord = (sql: Sql, facts: SessionFacts, row: Omit<NewSessionRow, keyof FactColumns>) =>
  sql.query<HolderRow>(
    `with begun as (${newSession.text} returning *)
     select ${selectList<HolderRow>(holderColumns)} from begun as r join users as u on u.id = r.user_id`,
    newSession.valuesOf({ ...row, ...columnsOf(facts) }),
  )

export type Graces = { refreshGrace: number; renewGrace: number }

/**
 * True if the newest token is so young that a refresh with the token before it still gets the newest. The tokens of a renewal at the proxy
 * travel with the application's answer, which may be slow or get lost, so they have a longer grace. The parameters are the offset of the
 * clock and both graces.
 */
const justRotated = (clockOffset: string, refreshGrace: string, renewGrace: string) =>
  `r.rotated_at > ${databaseNow(clockOffset)}
     - case when r.renewed_generation = r.generation then ${milliseconds(renewGrace)} else ${milliseconds(refreshGrace)} end`

/**
 * The one condition for tokens of a session that is bound to a device: the request has proven that key. The parameter is the key, or null.
 * Only what replaces the tokens after the user was proven (`replaceToken`) does without.
 */
const givesTokens = (provenKey: string) => `(r.bound_key is null or r.bound_key = ${provenKey}::bytea)`

/** The text is made once, because every refresh sends it. */
const rotateStatement = `update sessions as r
   set token_hash = $3, previous_hash = $2, generation = $10::int, issued_at = $4, expires_at = $5,
       bound_key = case when $16::boolean then $15::bytea else r.bound_key end,
       bound_at = case when $16::boolean then ${databaseNow('$6')} else r.bound_at end,
       rotated_at = ${databaseNow('$6')}, last_used_at = $7, ip = $8, user_agent = $9,
       renewed_generation = case
         when $11::boolean or (r.oldest_generation > r.generation and r.renewed_generation = r.generation) then $10::int end,
       earlier_hashes = case when r.oldest_generation > r.generation and r.previous_hash is not null
         and ${justRotated('$6', '$13', '$14')}
         then array_append(r.earlier_hashes, r.previous_hash) end
   from users as u
   where r.id = $1 and (r.token_hash = $2 or r.generation < $10::int - 1) and ${liveSession('$12')}
     and ${givesTokens('$15')} and (not $16::boolean or (r.bound_key is null and r.token_hash = $2))
     and u.id = r.user_id and u.disabled_at is null
   returning ${selectList<HolderRow>(holderColumns)}`

/** The key of a device that this request has proven. `binds`: the session is bound to it from now on, if its newest token was presented. */
export type ProvenKey = { key: Uint8Array; binds: boolean }

/**
 * A valid token that is newer than its record is accepted: the last write was lost in a failover, or the database was restored to an
 * earlier state. If a change of the groups has made the newest access token invalid, the newest refresh token T6 is exchanged for T7 while
 * other requests may still send T5. Then T5 (in `earlier_hashes`) stays valid for another grace time, the longer one if a renewal at the
 * proxy made T6.
 */
export const rotateRecord = (
  sql: Sql,
  rotation: Rotation & { atProxy: boolean; live: LiveAt; graces: Graces; proven: ProvenKey | undefined },
) =>
  sql.query<HolderRow>(rotateStatement, [
    rotation.id,
    rotation.presentedHash,
    rotation.successorHash,
    rotation.issuedAt,
    rotation.expiresAt,
    rotation.clockOffset,
    rotation.usedAt,
    rotation.client.ip,
    rotation.client.userAgent,
    rotation.generation,
    rotation.atProxy,
    momentsOf(rotation.live),
    rotation.graces.refreshGrace,
    rotation.graces.renewGrace,
    rotation.proven?.key ?? null,
    rotation.proven?.binds ?? false,
  ])

export type LockedRow = ProofRow & { generation: number; signed_in_as: string; created_at: Date; bound_at: Date | null }
const lockedSelectList = selectList<LockedRow>({
  generation: true,
  signed_in_as: true,
  created_at: true,
  bound_at: true,
  ...proofColumns,
})

type Caller = { sessionId: string; userId: string; generation: number }

/** The condition for the session of a caller. It is false if the session has ended or the caller's token was replaced. */
const isCallersSession = `r.id = $1 and r.user_id = $2 and r.oldest_generation <= $3 and ${liveSession('$4')}`
const callerValues = ({ sessionId, userId, generation }: Caller, live: LiveAt) => [
  sessionId,
  userId,
  generation,
  momentsOf(live),
]

export const lockRecord = (sql: Sql, caller: Caller, live: LiveAt) =>
  sql.query<LockedRow>(
    `select ${lockedSelectList} from sessions as r where ${isCallersSession} for update`,
    callerValues(caller, live),
  )

/**
 * Replaces the newest token, which cannot be exchanged any more (`voided_hash`). The token before it stays in `previous_hash`, because a
 * request may still send it and must not look like a theft.
 */
export const replaceToken = (
  sql: Sql,
  { client, ...token }: Omit<Rotation, 'presentedHash'> & { proof: Proof; proofAge: number },
) =>
  sql.query<HolderRow>(
    `update sessions as r
     set voided_hash = token_hash, voided_at = ${databaseNow('$6')}, token_hash = $2, generation = $3,
         oldest_generation = $3, issued_at = $4, expires_at = $5, last_used_at = $7, ip = $8, user_agent = $9,
         methods = $10, authenticated_at = $11, second_factor_at = $12,
         proof_moment = case when authenticated_at = $11 then proof_moment
           else ${databaseMoment('$6')} - ${milliseconds('$13')} end
     from users as u where r.id = $1 and u.id = r.user_id
     returning ${selectList<HolderRow>(holderColumns)}`,
    [
      token.id,
      token.successorHash,
      token.generation,
      token.issuedAt,
      token.expiresAt,
      token.clockOffset,
      token.usedAt,
      client.ip,
      client.userAgent,
      token.proof.methods,
      token.proof.provenAt,
      token.proof.secondFactorAt,
      token.proofAge,
    ],
  )

export type RecordRow = HolderRow & {
  created_at: Date
  token_hash: Uint8Array
  previous_hash: Uint8Array | null
  /** Hashes of earlier tokens, the newest last. */
  earlier_hashes: Uint8Array[] | null
  generation: number
  oldest_generation: number
  issued_at: Date
  expires_at: Date
  voided_hash: Uint8Array | null
  just_rotated: boolean
  just_voided: boolean
  usable: boolean
  /** Whether this request may have tokens of the session: it is not bound, or its key was proven. */
  gives_tokens: boolean
}

const graceStart = `${databaseNow('$2')} - ${milliseconds('$3')}`
const recordSelectList = selectList<RecordRow>({
  ...holderColumns,
  created_at: 'r.created_at',
  token_hash: true,
  previous_hash: true,
  earlier_hashes: true,
  generation: true,
  oldest_generation: true,
  issued_at: true,
  expires_at: true,
  voided_hash: true,
  just_rotated: justRotated('$2', '$3', '$4'),
  just_voided: `coalesce(voided_at > ${graceStart}, false)`,
  usable: `u.disabled_at is null and ${liveSession('$5')}`,
  gives_tokens: givesTokens('$6'),
})

type RecordMoments = { live: LiveAt; clockOffset: number; graces: Graces }

const recordById = `select ${recordSelectList} from sessions as r join users as u on u.id = r.user_id where r.id = $1`
const recordValues = (
  id: string,
  { live, clockOffset, graces: { refreshGrace, renewGrace } }: RecordMoments,
  provenKey: Uint8Array | null,
) => [id, clockOffset, refreshGrace, renewGrace, momentsOf(live), provenKey] as const

export const selectRecord = (sql: Sql, id: string, moments: RecordMoments, proven: ProvenKey | undefined) =>
  sql.query<RecordRow>(recordById, recordValues(id, moments, proven?.key ?? null))

/** Locks a session in a transaction that holds the user's row. No row if the caller's token was replaced. */
export const lockWholeRecord = (sql: Sql, { sessionId, userId, generation }: Caller, moments: RecordMoments) =>
  sql.query<RecordRow>(`${recordById} and r.user_id = $7 and r.oldest_generation <= $8 for update of r`, [
    ...recordValues(sessionId, moments, null),
    userId,
    generation,
  ])

export type BindingRow = {
  bound_key: Uint8Array | null
  /** Whether the presented token is the newest. */
  is_newest: boolean
  /** Whether its newest token was made so lately. */
  is_young: boolean
  /** The database's time. */
  moment: Date
}
const bindingSelectList = selectList<BindingRow>({
  bound_key: true,
  is_newest: 'r.token_hash = $2',
  is_young: `r.rotated_at > ${databaseNow('$3')} - ${milliseconds('$4')}`,
  moment: databaseNow('$3'),
})

/** What binds a live session to a device. `youngFor`: in milliseconds. */
export const selectBinding = (
  sql: Sql,
  { id, presentedHash, youngFor }: { id: string; presentedHash: Uint8Array; youngFor: number },
  { live, clockOffset }: Omit<RecordMoments, 'graces'>,
) =>
  sql.query<BindingRow>(
    `select ${bindingSelectList} from sessions as r join users as u on u.id = r.user_id
     where r.id = $1 and u.disabled_at is null and ${liveSession('$5')}`,
    [id, presentedHash, clockOffset, youngFor, momentsOf(live)],
  )

type StoredProofRow = ProofRow & { moment: Date; groups: string[] }
const storedProofSelectList = selectList<StoredProofRow>({
  ...proofColumns,
  moment: 'coalesce(proof_moment, authenticated_at)',
  groups: '(select u.groups from users as u where u.id = r.user_id)',
})

/** The last proof in the session of a caller, and the groups that the user is in now. */
export const selectProof = (sql: Sql, caller: Caller, live: LiveAt) =>
  sql.query<StoredProofRow>(
    `select ${storedProofSelectList} from sessions as r where ${isCallersSession}`,
    callerValues(caller, live),
  )

export const selectLive = (sql: Sql, id: string, userId: string, live: LiveAt) =>
  sql.query(`select 1 from sessions as r where r.id = $1 and r.user_id = $2 and ${liveSession('$3')}`, [
    id,
    userId,
    momentsOf(live),
  ])

/** The event that ends a session. A session that expires has none. */
export type EndReason = EventKind | 'expired'

/** Ends the sessions that meet the condition, and tells the reason to the trigger that notes them. */
const endSessions = (sql: Sql, because: EndReason, condition: string, values: readonly unknown[]) =>
  sql.query<{ id: string }>(`delete from sessions where sessions_end_because($1) and ${condition} returning id`, [
    because,
    ...values,
  ])

export const deleteRecordOfUser = (sql: Sql, because: EndReason, id: string, userId: string) =>
  endSessions(sql, because, 'id = $2 and user_id = $3', [id, userId])

export const deleteSome = (sql: Sql, because: EndReason, limit: number) =>
  endSessions(sql, because, 'id in (select id from sessions limit $2)', [limit])

export const deleteOthersOfUser = (sql: Sql, because: EndReason, userId: string, except: string) =>
  endSessions(sql, because, 'user_id = $2 and id <> $3', [userId, except])

/**
 * Ends all sessions of a user, and refuses the tokens of those that the database does not know. Tokens have whole seconds, so the next
 * second is the first whose tokens are accepted.
 */
export const deleteAllOfUser = (sql: Sql, because: EndReason, userId: string, clockOffset: number) =>
  sql.query<{ ended: string[]; accepted_from: Date }>(
    `with refusal as (
       insert into ended_sessions (sid, refused_before, reason)
       values ($2, date_trunc('second', ${databaseMoment('$3')}) + interval '1 second', $1)
       on conflict (xact, sid) do update set refused_before = excluded.refused_before, reason = excluded.reason
       returning refused_before as accepted_from
     ), ended as (
       delete from sessions where sessions_end_because($1) and user_id = $2 returning id
     )
     select accepted_from, array(select id from ended) as ended from refusal`,
    [because, userId, clockOffset],
  )

export const deleteOfProvider = (
  sql: Sql,
  because: EndReason,
  userId: string,
  provider: string,
  except: string | null,
) =>
  endSessions(sql, because, 'user_id = $2 and provider = $3 and ($4::uuid is null or id <> $4)', [
    userId,
    provider,
    except,
  ])

/** Takes the time of the proof away if the session began with this provider. */
export const setNeverProven = (sql: Sql, id: string, provider: string, neverProven: Date) =>
  sql.query('update sessions set authenticated_at = $3, proof_moment = null where id = $1 and provider = $2', [
    id,
    provider,
    neverProven,
  ])

/**
 * Ends surplus sessions, those of browsers with several sessions first, by their last use. So a person who knows the password and signs in
 * again and again ends their own sessions before the only session of another browser. The new session stays, even if another one was used
 * in the same second. A session that is over does not count, and the purge ends it.
 */
export const deleteSurplus = (
  sql: Sql,
  because: EndReason,
  userId: string,
  newSessionId: string,
  maxSessions: number,
  live: LiveAt,
) =>
  endSessions(
    sql,
    because,
    `id in (
       select id from (
         select id, last_used_at, row_number() over
           (partition by coalesce(browser, id::text) order by id <> $3, last_used_at desc, id desc) as place_in_browser
         from sessions as r where user_id = $2 and ${liveSession('$5')}
       ) as mine
       order by id <> $3, place_in_browser, last_used_at desc, id desc offset $4
     )`,
    [userId, newSessionId, maxSessions, momentsOf(live)],
  )

const expired: EndReason = 'expired'
/**
 * Deletes the sessions that are over among the next rows in the order of the primary key, and returns where to continue. An index on the
 * expiry would have to be updated at every rotation. Reading the key in small steps costs a rotation nothing.
 */
export const purgeAfter = (sql: Sql, cursor: string, live: LiveAt, limit: number) =>
  sql.query<{ cursor: string | null }>(
    `with step as materialized (
       select r.id, ${liveSession('$2')} as is_live
       from sessions as r where r.id > $1 order by r.id limit $3
     ), gone as (
       delete from sessions as r using step
       where sessions_end_because('${expired}') and r.id = step.id and not step.is_live and not ${liveSession('$2')} returning r.id
     )
     select (select id from step order by id desc limit 1) as cursor`,
    [cursor, momentsOf(live), limit],
  )

/**
 * Gives the sessions of a user the new groups, and refuses access tokens from before the change. No user is signed out, because the newest
 * refresh token still gets a successor. The tokens of a device's session are never exchanged, so its `generation` stays the same, and
 * `oldest_generation` is counted up by itself.
 */
export const updateGroups = (sql: Sql, userId: string, live: LiveAt) =>
  sql.query<{ id: string; oldest_generation: number }>(
    `update sessions as r set groups = u.groups,
       oldest_generation = case when r.application_id is null then r.generation else r.oldest_generation end + 1
     from users as u where r.user_id = $1 and u.id = r.user_id and ${liveSession('$2')}
     returning r.id, r.oldest_generation`,
    [userId, momentsOf(live)],
  )

export type SessionRow = {
  id: string
  ip: string
  user_agent: string
  created_at: Date
  last_used_at: Date
  expires_at: Date
  methods: string[]
  provider: string | null
  signed_in_as: string
  administers_since: Date | null
  bound_at: Date | null
  application: string | null
  resource: string | null
}

const sessionSelectList = selectList<SessionRow>({
  id: true,
  ip: true,
  user_agent: true,
  created_at: true,
  last_used_at: true,
  expires_at: true,
  methods: true,
  provider: true,
  signed_in_as: true,
  administers_since: true,
  bound_at: true,
  application: '(select name from applications as a where a.id = r.application_id)',
  resource: `(select x.name from application_sessions as s join resources as x on x.id = s.resource_id
    where s.sid = r.id and r.application_id is not null)`,
})

export const selectOfUser = (sql: Sql, userId: string, live: LiveAt) =>
  sql.query<SessionRow>(
    `select ${sessionSelectList} from sessions as r
     where r.user_id = $1 and ${liveSession('$2')} order by last_used_at desc, id desc limit 200`,
    [userId, momentsOf(live)],
  )
