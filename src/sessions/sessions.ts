import type { AccessClaims } from '../contract/access-claims.js'
import { type Refused, refuse } from '../contract/outcome.js'
import type { ProviderId } from '../contract/providers.js'
import type { Client } from '../http/request-origin.js'
import { later } from '../lib/clock.js'
import { hours } from '../lib/durations.js'
import { fingerprint } from '../lib/random.js'
import { nilUuid, uuidv7 } from '../lib/uuid.js'
import { acceptTransaction, afterCommit, type Sql, type Transaction } from '../platform/database/database.js'
import { epochSeconds, fromEpochSeconds, type IssuedTokens, issueTokens, type SessionTools } from './issue-tokens.js'
import { expiryFor, liveNow } from './live-sessions.js'
import { standingOf } from './rotation.js'
import {
  changedProof,
  initialProof,
  neverProven,
  type Proof,
  type ProofChange,
  proofOf,
  type SessionCaller,
  type SessionFacts,
} from './session-facts.js'
import type { HeldSession, SessionProof } from './session-lookups.js'
import type { EndReason } from './sessions.store.js'
import * as store from './sessions.store.js'
import type { RefreshToken } from './tokens.js'

export type { IssuedTokens } from './issue-tokens.js'

export type { SessionCaller } from './session-facts.js'

/** The most sessions of a user, and more than any user needs. A program that signs in again and again must not fill the table. */
const maxSessions = 100

const announce = ({ onEnded }: SessionTools, sql: Sql, endedRows: readonly { id: string }[]) =>
  afterCommit(sql, () => {
    for (const { id } of endedRows) onEnded({ sid: id, minGeneration: null })
  })

/** Ends surplus sessions after a new one has begun, in its transaction. Returns their ids. */
const endSurplus = async (tools: SessionTools, sql: Transaction, userId: string, newSessionId: string) => {
  const ended = await store.deleteSurplus(sql, 'session_ended', userId, newSessionId, maxSessions, liveNow(tools))
  announce(tools, sql, ended)
  return ended.map(({ id }) => id)
}

type SessionOwner = { sessionId: string; userId: string }

/** Ends sessions, and calls `onEnded` as soon as the end is committed. */
const createEndings = (tools: SessionTools) => {
  const { database, clock, onEnded } = tools
  const optionalTransaction = acceptTransaction(database)

  return {
    end: optionalTransaction(async (sql, because: EndReason, { sessionId, userId }: SessionOwner) => {
      const ended = await store.deleteRecordOfUser(sql, because, sessionId, userId)
      announce(tools, sql, ended)
      return ended.length > 0
    }),
    /**
     * Ends the sessions that began with a provider, because it is being unlinked. The session of the caller stays, and is not fresh any
     * more.
     */
    endOfProvider: async (
      sql: Transaction,
      because: EndReason,
      { userId, provider, ownSessionId }: { userId: string; provider: ProviderId; ownSessionId: string | undefined },
    ) => {
      const ended = await store.deleteOfProvider(sql, because, userId, provider, ownSessionId ?? null)
      if (ownSessionId !== undefined) await store.setNeverProven(sql, ownSessionId, provider, neverProven)
      announce(tools, sql, ended)
      return ended.length
    },
    /** Ends at most `limit` of all sessions. Returns how many have ended. */
    endSome: async (because: EndReason, limit: number) => {
      const ended = await store.deleteSome(database, because, limit)
      announce(tools, database, ended)
      return ended.length
    },
    /** Ends all sessions of a user, also those that the database does not know since it was restored to an earlier state. */
    endAll: optionalTransaction(async (sql, because: EndReason, userId: string) => {
      const [row] = await store.deleteAllOfUser(sql, because, userId, clock.offset())
      if (!row) throw new Error('A statement that always has a row had none')
      announce(
        tools,
        sql,
        row.ended.map((id) => ({ id })),
      )
      afterCommit(sql, () => onEnded({ userId, before: epochSeconds(row.accepted_from) }))
      return row.ended.length
    }),
    endOthers: optionalTransaction(async (sql, because: EndReason, userId: string, exceptSessionId: string) => {
      const ended = await store.deleteOthersOfUser(sql, because, userId, exceptSessionId)
      announce(tools, sql, ended)
      return ended.length
    }),
  }
}

/**
 * The user whose proof was checked, with what must be as it was then: the number of undos, and the hash of the password. Or a user whose row
 * this transaction holds already, and who is not disabled.
 */
export type CheckedUser =
  | { id: string; undoCount: number | null; passwordHash: string | null }
  | { id: string; heldAs: string }

/** The session of a device. It has the times of the proof of another session. */
export type DeviceSession = { id: string; applicationId: string; proof: Proof }

/** The proof as the row has it, and its age by the clock that compares it with requests of applications. */
const provenBy = (facts: SessionFacts, now: Date, device: DeviceSession | undefined) => {
  if (device) return { proof: device.proof, age: now.getTime() - device.proof.provenAt.getTime() }
  // A trusted device replaces the code at the sign-in only. It does not make the session fresh.
  const proof = initialProof(facts.methods, now, facts.trustedDevice === null ? facts.freshSince : 'never')
  // Applications are told that the user signed in just now (`auth_time`), although a sign-in by mail does not make the session fresh here.
  return { proof, age: facts.methods.includes('mail') ? 0 : now.getTime() - proof.provenAt.getTime() }
}

/**
 * Begins a session. Undefined if the user is disabled, if the password has changed since it was checked (a reset or an undo during a
 * sign-in wins), or if a second factor is needed. The tokens have the names and the email of the locked row, which may have changed since
 * the user was found.
 */
const begin = async (
  tools: SessionTools,
  sql: Transaction,
  user: CheckedUser,
  facts: SessionFacts,
  { client, secondFactorRequired, session }: NewSessionOptions,
) => {
  const { tokens, clock } = tools
  const username = 'heldAs' in user ? user.heldAs : (await store.lockUser(sql, user))[0]?.username
  if (username === undefined) return undefined
  const now = clock.now()
  const iat = epochSeconds(now)
  const sid = session?.id ?? uuidv7(now)
  const device = session && 'proof' in session ? session : undefined
  const claims = {
    userId: user.id,
    username,
    sid,
    gen: 0,
    auth_time: iat,
    iat,
    exp: expiryFor(tools, { begun: iat, refreshed: iat }),
  }
  const text = tokens.signRefresh(claims)
  const { proof, age } = provenBy(facts, now, device)
  const begunAt = fromEpochSeconds(iat)
  // If the first statement inserts nothing, the caller takes back what the second one has done.
  const inserted = store.insertRecord(sql, facts, {
    id: sid,
    user_id: user.id,
    token_hash: fingerprint(text),
    generation: claims.gen,
    issued_at: begunAt,
    rotated_at: clock.offset(),
    expires_at: fromEpochSeconds(claims.exp),
    ip: client.ip,
    user_agent: client.userAgent,
    browser: client.browser ?? null,
    created_at: begunAt,
    last_used_at: begunAt,
    authenticated_at: proof.provenAt,
    second_factor_at: proof.secondFactorAt,
    proof_moment: clock.offset() - age,
    second_factor_required: secondFactorRequired,
    signed_in_as: username,
    application_id: device?.applicationId ?? null,
  })
  const [[holder], surplus] = await Promise.all([inserted, endSurplus(tools, sql, user.id, sid)])
  if (!holder) return undefined
  return { ...issueTokens(tools, holder, { text, claims }), surplus }
}

/** `surplus`: the sessions that have ended because the user had too many. */
type BegunSession = IssuedTokens & { surplus: readonly string[] }

/** `session`: its id, if the caller has chosen one, or all that a device brings along. */
type NewSession = { id: string } | DeviceSession
type NewSessionOptions = { client: Client; secondFactorRequired: boolean; session: NewSession | undefined }

/** A caller with the refresh token of the same session. */
export type TokenHolder = SessionCaller & { refreshToken: RefreshToken }

/**
 * Locks the session of a caller, for something that lasts as long as the session. The refresh token must be one that a refresh would
 * accept, and the same rule decides. So no browser is signed out here that could still refresh. The session cannot end before the
 * transaction does.
 */
const lockOfHolder = async (
  tools: SessionTools,
  sql: Transaction,
  { refreshToken, ...caller }: TokenHolder,
): Promise<SessionProof | Refused<'not_authenticated' | 'theft'>> => {
  const { clock, graces } = tools
  const moments = { live: liveNow(tools), clockOffset: clock.offset(), graces }
  const [row] = await store.lockWholeRecord(sql, caller, moments)
  if (!row?.usable) return refuse('not_authenticated')
  const standing = standingOf(row, refreshToken)
  if (standing === 'valid') return { ...proofOf(row), begunAt: row.created_at }
  return refuse(standing === 'theft' ? 'theft' : 'not_authenticated')
}

/** `provesUser`: the user has proven who they are with this change. `session`: as it was when this transaction locked it. */
type Replacement = { session: HeldSession; change: ProofChange; provesUser: boolean }

/** Clears the access cookie of a bound session instead: the browser gets another one for a proof by its key. */
const withoutAccess = (issued: IssuedTokens, now: Date): IssuedTokens => ({
  ...issued,
  accessToken: '',
  accessTokenMaxAge: 0,
  accessTokenExpiresAt: now,
})

/**
 * Gives new tokens to a session whose user has just proven who they are, or whose proof or user has changed. Its former tokens are refused
 * from now on. Within the grace time a former token does not end the session, because another tab may be sending it right now. A session
 * that is bound to its device gets an access token only if the user was proven: the new refresh token alone is worth nothing.
 */
const replaceTokens = async (
  tools: SessionTools,
  sql: Transaction,
  { sessionId: sid, userId }: SessionCaller,
  { session, client, change, provesUser }: Replacement & { client: Client },
) => {
  const { tokens, clock, onEnded } = tools
  const now = clock.now()
  const iat = epochSeconds(now)
  const authTime = epochSeconds(session.begunAt)
  const claims = {
    userId,
    username: session.signedInAs,
    sid,
    gen: session.generation + 1,
    auth_time: authTime,
    iat,
    exp: expiryFor(tools, { begun: authTime, refreshed: iat }),
  }
  const text = tokens.signRefresh(claims)
  const proof = changedProof(session, change, now)
  const [holder] = await store.replaceToken(sql, {
    id: sid,
    generation: claims.gen,
    successorHash: fingerprint(text),
    issuedAt: fromEpochSeconds(iat),
    expiresAt: fromEpochSeconds(claims.exp),
    usedAt: now,
    clockOffset: clock.offset(),
    client,
    proof,
    proofAge: now.getTime() - proof.provenAt.getTime(),
  })
  if (!holder) throw new Error('A session has ended although its row is locked')
  sql.afterCommit(() => onEnded({ sid, minGeneration: claims.gen }))
  const issued = issueTokens(tools, holder, { text, claims })
  return session.isBound && !provesUser ? withoutAccess(issued, now) : issued
}

const pauseAfterRound = 1 * hours

/**
 * Deletes the sessions that are over among the next records. Most records are still needed, so a step reads more records than it may
 * delete, and returns a full batch while there are more to read. At the end of the table it pauses and starts again.
 */
const createPurge = (tools: SessionTools) => {
  const { clock } = tools
  let cursor = nilUuid
  let pausedUntil = new Date(0)

  return async (sql: Sql, limit: number) => {
    if (clock.now() < pausedUntil) return 0
    const [step] = await store.purgeAfter(sql, cursor, liveNow(tools), limit * 10)
    cursor = step?.cursor ?? nilUuid
    if (step?.cursor) return limit
    pausedUntil = later(clock.now(), pauseAfterRound)
    return 0
  }
}

/**
 * Begins, renews and ends sessions. `session-lookups` finds them, and `rotation` exchanges their tokens. `secondFactorRequired`: whether
 * every session needs a second factor now, even if the account has none.
 */
export const createSessions = (tools: SessionTools, secondFactorRequired: () => boolean) => {
  const { clock, graces, onEnded } = tools

  return {
    /** Only `sign-in` may call this function, because it decides who gets a session. */
    beginSession: (
      sql: Transaction,
      user: CheckedUser,
      facts: SessionFacts,
      client: Client,
      session?: NewSession,
    ): Promise<BegunSession | undefined> =>
      begin(tools, sql, user, facts, { client, secondFactorRequired: secondFactorRequired(), session }),
    newId: () => uuidv7(clock.now()),
    /** Whether a token was issued so lately that requests with the token before it may still arrive. */
    isNew: ({ iat }: AccessClaims) => clock.now().getTime() - iat * 1000 <= graces.renewGrace,
    lockOfHolder: (sql: Transaction, holder: TokenHolder) => lockOfHolder(tools, sql, holder),
    replaceTokens: (sql: Transaction, caller: SessionCaller, client: Client, replacement: Replacement) =>
      replaceTokens(tools, sql, caller, { client, ...replacement }),
    ...createEndings(tools),
    /**
     * Copies the groups of the user, whose row is held, to the sessions. Access tokens from before the change are refused, and the next
     * refresh gets new tokens.
     */
    giveGroups: async (sql: Transaction, userId: string) => {
      const changedRows = await store.updateGroups(sql, userId, liveNow(tools))
      sql.afterCommit(() => {
        for (const { id, oldest_generation } of changedRows) onEnded({ sid: id, minGeneration: oldest_generation })
      })
    },
    purge: createPurge(tools),
  }
}
