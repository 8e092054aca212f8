import type { Access, RememberedClient } from '../../applications/applications.js'
import { authorizationTables, stillAuthorized } from '../../applications/still-authorized.js'
import type { FieldValues } from '../../contract/profile-fields.js'
import type { KeyAlgorithm } from '../../keys/key-pair.js'
import type { Sql } from '../../platform/database/database.js'
import { databaseMoment, milliseconds, selectList } from '../../platform/database/sql.js'
import { expiryInSql, type LiveAt, liveSession, momentsOf } from '../../sessions/live-sessions.js'
import type { ProofRow } from '../../sessions/session-facts.js'
import type { TokenContent } from './user-claims.js'

/** The moments that a statement compares with. They come from the clock of the database, which tests move by the offset. */
export type Moments = { live: LiveAt; clockOffset: number }

/** The resource that tokens are for: its scopes are names. */
export type GrantedResource = { address: string; algorithm: KeyAlgorithm; scopes: readonly string[] }

/** The user, as they are now. */
export type SubjectRow = {
  user_id: string
  username: string
  name: string | null
  email: string
  email_proven: boolean
  groups: string[]
  fields: FieldValues
}

/** The user and session of a token, as they are now. */
export type HolderRow = SubjectRow & {
  /** Whether the session is that of a device or a program, which no browser refreshes. */
  is_device: boolean
  resource: GrantedResource | null
  oldest_generation: number
  authorization_id: string
  sid: string
  token_content: TokenContent
}
const userColumns = {
  user_id: 'u.id',
  username: 'u.username',
  name: 'u.name',
  email: 'u.email',
  email_proven: 'u.email_proven',
  groups: 'u.groups',
  fields: 'u.fields',
}
const resourceWith = (id: string) => `(select jsonb_build_object('address', x.address, 'algorithm', x.algorithm,
  'scopes', jsonb_path_query_array(x.scopes, '$[*].name')) from resources as x where x.id = ${id})`

/** `source` is the table that has the content of the token, and `resourceId` the column that names its resource. */
const holderColumns = (source: string, resourceId = 's.resource_id') => ({
  resource: resourceWith(resourceId),
  oldest_generation: 'r.oldest_generation',
  authorization_id: 's.id',
  sid: 's.sid',
  is_device: 'r.application_id is not null',
  token_content: `${source}.token_content`,
  ...userColumns,
})

/**
 * Whether the client is what was remembered, and still has the secret that it sent. The values come from `rememberedValues`. Without a
 * version it was just read.
 */
const isStillClient = (version: string, secretHash: string) => `(${version}::text is null or exists (
  select 1 from applications as n where n.id = a.id and n.xmin::text = ${version} and (${secretHash}::bytea is null
    or exists (select 1 from application_secrets as z where z.application_id = n.id and z.hash = ${secretHash}))))`

const rememberedValues = (remembered: RememberedClient | undefined) => [
  remembered?.version ?? null,
  remembered?.secretHash ?? null,
]

// ── Authorizations

/** Reads who may use the application now. An operator who changes it waits until the transaction ends. */
export const holdApplication = (sql: Sql, id: string) =>
  sql.query<{ access: Access['access']; groups: string[] }>(
    'select access, groups from applications where id = $1 for share',
    [id],
  )

/** The same of a resource. */
export const holdResource = (sql: Sql, id: string) =>
  sql.query<Access & { name: string }>('select access, groups, name from resources where id = $1 for share', [id])

type NewAuthorization = {
  id: string
  sid: string
  clientId: string
  userId: string
  /** Null: nothing is shared here, because a session of its own will begin. Then an authorization that is there stays as it is. */
  scopes: readonly string[] | null
  resourceId?: string | undefined
  now: Date
}

/** Each session has one authorization for each application. `is_first`: this statement has created it. */
export const upsertAuthorization = (sql: Sql, authorization: NewAuthorization) =>
  sql.query<{ id: string; is_first: boolean }>(
    `insert into application_sessions as s (id, sid, application_id, user_id, scopes, created_at, last_used_at, resource_id)
     values ($1, $2, $3, $4, coalesce($5::text[], '{}'), $6, $6, $7)
     on conflict (sid, application_id) do update set scopes = coalesce($5::text[], s.scopes), last_used_at = excluded.last_used_at
     returning s.id, s.id = $1 as is_first`,
    [
      authorization.id,
      authorization.sid,
      authorization.clientId,
      authorization.userId,
      authorization.scopes,
      authorization.now,
      authorization.resourceId ?? null,
    ],
  )

/** No row if the authorization has ended, or does not meet what the application demands. */
export const selectStillAuthorized = (sql: Sql, id: string, live: LiveAt) =>
  sql.query(`select 1 from ${authorizationTables} where s.id = $1 and ${stillAuthorized('$2')}`, [id, momentsOf(live)])

// ── Codes

type NewCode = {
  hash: Uint8Array
  authorizationId: string
  redirectUri: string
  codeChallenge: string | null
  content: TokenContent
  /** Set if the code begins a session of its own. */
  ownSession: OwnSession | undefined
  lifetime: number
  clockOffset: number
}

/** A session of a program that hangs on no browser: for itself, or for a resource alone. */
export type OwnSession = { resourceId: string | undefined }

export const insertCode = (sql: Sql, code: NewCode) =>
  sql.query(
    `insert into authorization_codes
       (hash, application_session_id, redirect_address, challenge, token_content, created_at, expires_at, begins_session, resource_id)
     values ($1, $2, $3, $4, $5, ${databaseMoment('$6')}, ${databaseMoment('$6')} + ${milliseconds('$7')}, $8, $9)`,
    [
      code.hash,
      code.authorizationId,
      code.redirectUri,
      code.codeChallenge,
      code.content,
      code.clockOffset,
      code.lifetime,
      code.ownSession !== undefined,
      code.ownSession?.resourceId ?? null,
    ],
  )

export type CodeRow = HolderRow & {
  begins_session: boolean
  resource_id: string | null
  redirect_address: string
  challenge: string | null
  has_expired: boolean
  is_used: boolean
  is_just_used: boolean
  is_authorized: boolean
}

const codeColumns = selectList<CodeRow>({
  ...holderColumns('c', 'c.resource_id'),
  begins_session: 'c.begins_session',
  resource_id: 'c.resource_id',
  redirect_address: 'c.redirect_address',
  challenge: 'c.challenge',
  has_expired: `c.expires_at <= ${databaseMoment('$3')}`,
  is_used: 'c.used_at is not null',
  is_just_used: `coalesce(c.used_at > ${databaseMoment('$3')} - ${milliseconds('$4')}, false)`,
  is_authorized: stillAuthorized('$5'),
})

type UsedCode = {
  hash: Uint8Array
  clientId: string
  remembered: RememberedClient | undefined
  retryWindow: number
}

const codeText = `select ${codeColumns} from authorization_codes as c
     join (${authorizationTables}) on s.id = c.application_session_id
     where c.hash = $1 and a.id = $2 and ${isStillClient('$6', '$7')}`

/** `retryWindow`: for how long a second use counts as a retry of the first. */
export const selectCode = (
  sql: Sql,
  { hash, clientId, remembered, retryWindow }: UsedCode,
  { live, clockOffset }: Moments,
) => {
  const parameters = [hash, clientId, clockOffset, retryWindow, momentsOf(live), ...rememberedValues(remembered)]
  return sql.query<CodeRow>(codeText, parameters)
}

/** When tokens expire: with the session, as it would end without a further use. Every statement that writes them takes it from here. */
const tokensExpiry = (session: string) => `${session}.expires_at`

type NewTokens = {
  id: string
  authorizationId: string
  codeHash: Uint8Array
  refreshHash: Uint8Array
  content: TokenContent
  issuedAt: Date
  accessToken: { hash: Uint8Array; lifetime: number }
}

export type OwnTokens = Omit<NewTokens, 'codeHash'> & { codeHash: Uint8Array | null }

const redeemText = `with held as (
       update application_sessions as h set last_used_at = $8 from ${authorizationTables}
       where h.id = $2 and s.id = $2 and ${stillAuthorized('$9')}
       returning h.id, ${tokensExpiry('r')} as tokens_expiry
     ), used as (
       update authorization_codes as c set used_at = ${databaseMoment('$7')} from held
       where c.hash = $3 and c.application_session_id = held.id and c.used_at is null and c.expires_at > ${databaseMoment('$7')}
       returning held.id, held.tokens_expiry
     ), made as (
       insert into application_tokens
         (id, application_session_id, code_hash, refresh_hash, token_content, issued_at, rotated_at, expires_at)
       select $1, used.id, $3, $4, $5, $6, ${databaseMoment('$7')}, used.tokens_expiry from used
       returning id
     ), issued as (
       insert into application_access_tokens (hash, application_tokens_id, scopes, expires_at)
       select $10, made.id, null, ${databaseMoment('$7')} + ${milliseconds('$11')} from made
     )
     select (select count(*) from application_tokens where application_session_id = $2)::int as earlier_tokens from made`

/**
 * Uses a code up and inserts its tokens. Of several uses at once, only one gets a row. The authorization is locked before its code, because
 * everything that ends an authorization locks them in this order.
 */
export const redeemCode = (sql: Sql, tokens: NewTokens, now: Date, { live, clockOffset }: Moments) =>
  sql.query<{ earlier_tokens: number }>(redeemText, [
    tokens.id,
    tokens.authorizationId,
    tokens.codeHash,
    tokens.refreshHash,
    tokens.content,
    tokens.issuedAt,
    clockOffset,
    now,
    momentsOf(live),
    tokens.accessToken.hash,
    tokens.accessToken.lifetime,
  ])

// ── Sessions of devices and programs

/** Uses a code up, and gives it to the authorization that it begins: then a second use ends that one. No row if it cannot be used. */
export const moveCode = (sql: Sql, hash: Uint8Array, authorizationId: string, { clockOffset }: Moments) =>
  sql.query(
    `update authorization_codes set used_at = ${databaseMoment('$3')}, application_session_id = $2
     where hash = $1 and used_at is null and expires_at > ${databaseMoment('$3')} returning 1`,
    [hash, authorizationId, clockOffset],
  )

type ApproverRow = SubjectRow & ProofRow & { begun_at: Date }
const approverColumns = selectList<ApproverRow>({
  ...userColumns,
  methods: 'r.methods',
  authenticated_at: 'r.authenticated_at',
  second_factor_at: 'r.second_factor_at',
  begun_at: 'r.created_at',
})

/** The user who has approved a device, if not disabled, and if the session of the approval has not ended. */
export const selectApprover = (sql: Sql, { userId, sid }: { userId: string; sid: string }, live: LiveAt) =>
  sql.query<ApproverRow>(
    `select ${approverColumns} from sessions as r join users as u on u.id = r.user_id
     where r.id = $1 and r.user_id = $2 and u.disabled_at is null and ${liveSession('$3')}`,
    [sid, userId, momentsOf(live)],
  )

/**
 * The tokens of a device or a program, whose authorization was made in the same transaction. Access tokens for a resource are signed, and
 * stand in no table.
 */
export const insertOwnTokens = (
  sql: Sql,
  { id, authorizationId, codeHash, refreshHash, content, issuedAt, accessToken }: OwnTokens,
  { clockOffset }: Moments,
) =>
  sql.query(
    `with made as (
       insert into application_tokens
         (id, application_session_id, code_hash, refresh_hash, token_content, issued_at, rotated_at, expires_at)
       select $1, s.id, $9, $3, $4, $5, ${databaseMoment('$6')}, ${tokensExpiry('r')}
       from application_sessions as s join sessions as r on r.id = s.sid where s.id = $2
       returning id, application_session_id
     )
     insert into application_access_tokens (hash, application_tokens_id, scopes, expires_at)
     select $7, made.id, null, ${databaseMoment('$6')} + ${milliseconds('$8')}
     from made join application_sessions as s on s.id = made.application_session_id where s.resource_id is null`,
    [
      id,
      authorizationId,
      refreshHash,
      content,
      issuedAt,
      clockOffset,
      accessToken.hash,
      accessToken.lifetime,
      codeHash,
    ],
  )

/** `writeInterval` is in milliseconds. `longest` is how long a session lasts (`live-sessions`). */
type DeviceUse = { sid: string; now: Date; writeInterval: number; longest: readonly number[] }

/** Extends the session of a device, and its tokens. The session of a browser is left alone. */
export const noteDeviceUse = (sql: Sql, { sid, now, writeInterval, longest }: DeviceUse) =>
  sql.query(
    `with used as (
       update sessions set last_used_at = $2, issued_at = $2,
         expires_at = ${expiryInSql({ begun: 'created_at', refreshed: '$2::timestamptz' }, '$4')}
       where id = $1 and application_id is not null and last_used_at < $2::timestamptz - ${milliseconds('$3')}
       returning id, expires_at
     )
     update application_tokens as t set expires_at = ${tokensExpiry('used')}
     from used join application_sessions as s on s.sid = used.id where t.application_session_id = s.id`,
    [sid, now, writeInterval, longest],
  )

// ── Refresh tokens

/** Locks the authorization until the transaction ends. */
export const holdAuthorization = (sql: Sql, id: string) =>
  sql.query('select 1 from application_sessions where id = $1 for update', [id])

/** Deletes the tokens that were used longest ago. An application that signs its user in at every page would otherwise fill the table. */
export const deleteSurplus = (sql: Sql, authorizationId: string, maxTokens: number) =>
  sql.query(
    `delete from application_tokens where id in (
       select id from application_tokens where application_session_id = $1 order by rotated_at desc, id desc offset $2
     )`,
    [authorizationId, maxTokens],
  )

export type NewAccessToken = { hash: Uint8Array; scopes: readonly string[] | null; lifetime: number }

type Rotation = {
  id: string
  clientId: string
  remembered: RememberedClient | undefined
  presentedHash: Uint8Array
  successorHash: Uint8Array
  generation: number
  accessToken: NewAccessToken
  issuedAt: Date
  /** The address that the program names, if it names one. */
  resource: string | null
}

/** Whether the authorization is for the resource that the program names, if it names one. */
const isFor = (resource: string) =>
  `(${resource}::text is null or exists (select 1 from resources as x where x.id = s.resource_id and x.address = ${resource}))`

const hasScopes = (tokens: string, scopes: string) =>
  `(${scopes}::text[] is null or ${tokens}.token_content->'scopes' @> to_jsonb(${scopes}::text[]))`

const rotatedColumns = selectList<HolderRow>(holderColumns('t'))

const rotateText = `with rotated as (
       update application_tokens as t
       set refresh_hash = $3, previous_hash = $2, generation = $4::int, rotated_at = ${databaseMoment('$6')}, issued_at = $7,
           expires_at = ${tokensExpiry('r')}
       from ${authorizationTables}
       where t.id = $1 and (t.refresh_hash = $2 or t.generation < $4::int - 1) and t.expires_at > ${databaseMoment('$6')}
         and s.id = t.application_session_id and a.id = $5
         and ${stillAuthorized('$8')} and ${hasScopes('t', '$10')} and ${isFor('$12')}
         and ${isStillClient('$13', '$14')}
       returning t.id as tokens_id, ${rotatedColumns}
     ), issued as (
       insert into application_access_tokens (hash, application_tokens_id, scopes, expires_at)
       select $9, tokens_id, $10, ${databaseMoment('$6')} + ${milliseconds('$11')} from rotated where resource is null
     )
     select * from rotated`

/**
 * Exchanges a refresh token for the next one, and adds an access token. A token that is newer than its row is accepted, as in sessions,
 * because then the database has lost a write.
 */
export const rotateTokens = (sql: Sql, rotation: Rotation, { live, clockOffset }: Moments) =>
  sql.query<HolderRow>(rotateText, [
    rotation.id,
    rotation.presentedHash,
    rotation.successorHash,
    rotation.generation,
    rotation.clientId,
    clockOffset,
    rotation.issuedAt,
    momentsOf(live),
    rotation.accessToken.hash,
    rotation.accessToken.scopes,
    rotation.accessToken.lifetime,
    rotation.resource,
    ...rememberedValues(rotation.remembered),
  ])

export type TokensRow = HolderRow & {
  refresh_hash: Uint8Array
  previous_hash: Uint8Array | null
  generation: number
  issued_at: Date
  is_just_rotated: boolean
  is_authorized: boolean
  has_scopes: boolean
  is_for_resource: boolean
}

const tokensColumns = selectList<TokensRow>({
  ...holderColumns('t'),
  refresh_hash: 't.refresh_hash',
  previous_hash: 't.previous_hash',
  generation: 't.generation',
  issued_at: 't.issued_at',
  is_just_rotated: `t.rotated_at > ${databaseMoment('$3')} - ${milliseconds('$4')}`,
  is_authorized: `(t.expires_at > ${databaseMoment('$3')} and ${stillAuthorized('$5')})`,
  has_scopes: hasScopes('t', '$6'),
  is_for_resource: isFor('$7'),
})

/** `grace`: for how long after a rotation the previous token is exchanged for the newest one again. */
export const selectTokens = (
  sql: Sql,
  tokens: { id: string; clientId: string; grace: number; scopes: readonly string[] | null; resource: string | null },
  { live, clockOffset }: Moments,
) =>
  sql.query<TokensRow>(
    `select ${tokensColumns} from application_tokens as t
     join (${authorizationTables}) on s.id = t.application_session_id
     where t.id = $1 and a.id = $2`,
    [tokens.id, tokens.clientId, clockOffset, tokens.grace, momentsOf(live), tokens.scopes, tokens.resource],
  )

/** The names of the scopes of the resource that the tokens are for. No row if they are for none. */
export const selectResourceScopes = (sql: Sql, id: string) =>
  sql.query<{ scopes: string[] }>(
    `select jsonb_path_query_array(x.scopes, '$[*].name') as scopes from application_tokens as t
     join application_sessions as s on s.id = t.application_session_id join resources as x on x.id = s.resource_id
     where t.id = $1`,
    [id],
  )

/** The tokens with this id, of any application. */
export const selectById = (sql: Sql, id: string) => sql.query('select 1 from application_tokens where id = $1', [id])

// ── Access tokens

/** Adds an access token to existing tokens. No row if they have ended since. */
export const insertAccessToken = (sql: Sql, tokensId: string, token: NewAccessToken, { clockOffset }: Moments) =>
  sql.query(
    `insert into application_access_tokens (hash, application_tokens_id, scopes, expires_at)
     select $2, id, $3, ${databaseMoment('$4')} + ${milliseconds('$5')} from application_tokens where id = $1 returning 1`,
    [tokensId, token.hash, token.scopes, clockOffset, token.lifetime],
  )

/** Such a token is for no resource. */
export type AccessTokenRow = SubjectRow & {
  authorization_id: string
  token_content: TokenContent
  scopes: string[] | null
}
const accessTokenColumns = selectList<AccessTokenRow>({
  authorization_id: 's.id',
  token_content: 't.token_content',
  scopes: 'x.scopes',
  ...userColumns,
})

const accessTokenText = `select ${accessTokenColumns} from application_access_tokens as x
     join application_tokens as t on t.id = x.application_tokens_id
     join (${authorizationTables}) on s.id = t.application_session_id
     where x.hash = $1 and x.expires_at > ${databaseMoment('$2')} and ${stillAuthorized('$3')}`

export const selectByAccessToken = (sql: Sql, hash: Uint8Array, { live, clockOffset }: Moments) =>
  sql.query<AccessTokenRow>(accessTokenText, [hash, clockOffset, momentsOf(live)])

export type IntrospectedRow = {
  application_id: string
  scopes: string[]
  user_id: string
  username: string
  name: string | null
  email: string
  groups: string[]
  sid: string
  oldest_generation: number
  methods: string[]
  authenticated_at: Date
  second_factor_at: Date | null
  expires_at: Date
}
const introspectedColumns = selectList<IntrospectedRow>({
  application_id: 's.application_id',
  // A refresh may have asked for fewer than the code.
  scopes: "coalesce(x.scopes, array(select jsonb_array_elements_text(t.token_content->'scopes')))",
  user_id: 'u.id',
  username: 'u.username',
  name: 'u.name',
  email: 'u.email',
  groups: 'u.groups',
  sid: 's.sid',
  oldest_generation: 'r.oldest_generation',
  methods: 'r.methods',
  authenticated_at: 'r.authenticated_at',
  second_factor_at: 'r.second_factor_at',
  expires_at: 'x.expires_at',
})

/** The user and the session of an access token, for a program that an application calls. */
export const selectHolder = (sql: Sql, hash: Uint8Array, { live, clockOffset }: Moments) =>
  sql.query<IntrospectedRow>(
    `select ${introspectedColumns} from application_access_tokens as x
     join application_tokens as t on t.id = x.application_tokens_id
     join (${authorizationTables}) on s.id = t.application_session_id
     where x.hash = $1 and x.expires_at > ${databaseMoment('$2')} and ${stillAuthorized('$3')}`,
    [hash, clockOffset, momentsOf(live)],
  )

/** The user of the session that is for the resource with this address. */
export const selectResourceUser = (sql: Sql, sid: string, address: string, live: LiveAt) =>
  sql.query<{ userId: string; username: string; name: string | null; email: string; groups: string[] }>(
    `select u.id as "userId", u.username, u.name, u.email, u.groups from ${authorizationTables}
     join resources as x on x.id = s.resource_id
     where s.sid = $1 and x.address = $2 and ${stillAuthorized('$3')}`,
    [sid, address, momentsOf(live)],
  )

// ── Revocation: an application can revoke its own tokens only. One statement for both, so that unknown tokens take as long as others.

/** Deletes the tokens if they are of this application. No row if there are none with this id, of any application. */
export const deleteTokens = (sql: Sql, id: string, clientId: string) =>
  sql.query<{ sid: string; is_own: boolean }>(
    `with found as (
       select t.id, s.sid, s.application_id = $2 as is_own
       from application_tokens as t join application_sessions as s on s.id = t.application_session_id where t.id = $1
     ), deleted as (
       delete from application_tokens as t using found where t.id = found.id and found.is_own
     )
     select sid, is_own from found`,
    [id, clientId],
  )

/** Like `deleteTokens`, for a single access token. */
export const deleteAccessToken = (sql: Sql, hash: Uint8Array, clientId: string) =>
  sql.query<{ is_own: boolean }>(
    `with found as (
       select x.hash, s.application_id = $2 as is_own from application_access_tokens as x
       join application_tokens as t on t.id = x.application_tokens_id
       join application_sessions as s on s.id = t.application_session_id where x.hash = $1
     ), deleted as (
       delete from application_access_tokens as x using found where x.hash = found.hash and found.is_own
     )
     select is_own from found`,
    [hash, clientId],
  )
