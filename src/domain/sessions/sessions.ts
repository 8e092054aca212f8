import type { Method } from '../../contract/factors.js'
import { type Refused, refuse } from '../../contract/outcome.js'
import type { ProviderId } from '../../contract/providers.js'
import type { Clock } from '../../lib/clock.js'
import { fingerprint, sameBytes } from '../../lib/random.js'
import { uuidv7 } from '../../lib/uuid.js'
import type { Database, Transaction } from '../../platform/database/database.js'
import { accessTokenLifetime, type RefreshClaims, type RefreshToken, type Tokens } from '../tokens/tokens.js'
import type { Client } from './client.js'
import type { EndedSession } from './ended-sessions.js'
import { createEndings } from './endings.js'
import { createSessionLife, refreshTokenLifetime, type SessionLimits } from './live-sessions.js'
import { changedProof, firstProof, neverProven, type Proof, type ProofChange, proofOf } from './proof.js'
import { createPurge } from './purge.js'
import * as store from './sessions.store.js'

export type SignedInUser = { id: string; username: string; email: string; name: string | null; undoCount?: number }

/**
 * What a session begins with: the hash of a password that was checked, and a device that needs no second factor. `provenAt` is when
 * the user proved it, if that was not now.
 */
export type FirstProof = {
  methods: readonly Method[]
  passwordHash?: string | undefined
  trustedDevice?: string
  provider?: ProviderId | undefined
  provenAt?: Date | undefined
}

/** The result of a sign-in or a rotation. */
export type Issued = {
  user: SignedInUser
  sessionId: string
  accessToken: string
  accessTokenExpiresAt: Date
  refreshToken: string
  /** How long each cookie is valid, in seconds. */
  accessTokenMaxAge: number
  refreshTokenMaxAge: number
}

/**
 * `raced`: the token had just been rotated by another request, and this one got the same successor. `replaced`: it lost
 * the race against a change of the password, and the session goes on with newer tokens.
 */
export type Rotated =
  | { issued: Issued; raced: boolean }
  | (Refused<'ended' | 'theft' | 'replaced'> & { userId: string; sessionId: string })

/** A browser that asks for its tokens gets them at once. Through a proxy they travel with the answer of the application. */
export type RotatedBy = 'browser' | 'proxy'

/** The caller, and which of the session's tokens it used. */
export type SessionCaller = { sessionId: string; userId: string; generation: number }

export type Sessions = ReturnType<typeof createSessions>

/** Claims have whole seconds. So must every stored time from which a token is signed again. */
const inSeconds = (moment: Date) => Math.floor(moment.getTime() / 1000)
const fromSeconds = (value: number) => new Date(value * 1000)

type Options = SessionLimits & {
  database: Database
  tokens: Tokens
  clock: Clock
  refreshGrace: number
  renewGrace: number
  /** `required`: every session needs a second factor, also of an account that has none. */
  secondFactor?: 'optional' | 'required'
  /**
   * Told of each session that this process has ended or did not find, and of tokens that it has replaced, as soon as that is
   * committed.
   */
  onEnded?: (ended: EndedSession) => void
}

export const createSessions = (options: Options) => {
  const { database, tokens, clock, refreshGrace, renewGrace, onEnded = () => undefined } = options
  const { endSurplus, ...endings } = createEndings({ ...options, onEnded })

  const { liveNow, endOf, expiryFor } = createSessionLife(options)

  const issue = (
    { id, username, email, name }: SignedInUser,
    { methods, provenAt, secondFactorAt }: Proof,
    claims: RefreshClaims,
    refreshToken: string,
    iat = claims.iat,
  ): Issued => {
    // A token that was signed before SESSION_MAX_AGE was lowered says a later time.
    const end = Math.min(claims.exp, endOf(claims.auth_time))
    const exp = Math.min(iat + accessTokenLifetime / 1000, end)
    const { sid, gen } = claims
    const proof = {
      auth_time: inSeconds(provenAt),
      amr: methods,
      ...(secondFactorAt && { mfa_time: inSeconds(secondFactorAt) }),
    }
    return {
      user: { id, username, email, name },
      sessionId: sid,
      accessToken: tokens.signAccess({ userId: id, username, sid, gen, iat, exp, email, name, ...proof }),
      accessTokenExpiresAt: fromSeconds(exp),
      refreshToken,
      accessTokenMaxAge: exp - iat,
      // The clock of the instance that signed the token may be ahead of ours.
      refreshTokenMaxAge: Math.min(end - iat, refreshTokenLifetime / 1000),
    }
  }

  /**
   * Only `domain/sign-in` may call it: it decides who gets a session. Undefined if the user is disabled, if the password is
   * not the one that was checked any more (a reset or an undo during a sign-in wins), or if a second factor is needed. The tokens have
   * the names and the email of the locked row, which may have changed since the user was found.
   */
  const beginSession = async (
    sql: Transaction,
    { id: userId, undoCount }: Pick<SignedInUser, 'id' | 'undoCount'>,
    proof: FirstProof,
    client: Client,
  ): Promise<Issued | undefined> => {
    const { passwordHash, trustedDevice, provider } = proof
    const checked = { userId, passwordHash: passwordHash ?? null, undoCount: undoCount ?? null }
    const [names] = await store.lockUser(sql, checked)
    if (!names) return undefined
    const now = clock.now()
    const iat = inSeconds(now)
    const sid = uuidv7(now)
    const { username } = names
    const claims = { userId, username, sid, gen: 0, auth_time: iat, iat, exp: expiryFor(iat) }
    const refreshToken = tokens.signRefresh(claims)
    // A trusted device stands for the code at the sign-in only.
    const proven = firstProof(proof.methods, now, trustedDevice === undefined ? proof.provenAt : neverProven)
    const inserted = await store.insertRecord(sql, {
      id: sid,
      userId,
      username,
      tokenHash: fingerprint(refreshToken),
      issuedAt: fromSeconds(iat),
      expiresAt: fromSeconds(claims.exp),
      clockOffset: clock.offset(),
      client,
      proof: proven,
      trustedDevice: trustedDevice ?? null,
      provider: provider ?? null,
      secondFactorRequired: options.secondFactor === 'required',
    })
    if (inserted.length === 0) return undefined
    await endSurplus(sql, userId, sid)
    return issue({ id: userId, ...names }, proven, claims, refreshToken)
  }

  /**
   * Answers a token that is not the newest one of its session. Another request may have rotated it a moment ago: then it gets
   * the same successor. The session may have ended. Any other old token counts as stolen: the caller ends the session.
   */
  const answerOldToken = async (claims: RefreshClaims, presented: Uint8Array): Promise<Rotated> => {
    const { userId, sid: sessionId } = claims
    const owner = { userId, sessionId }
    const ended = refuse('ended', owner)
    const [row] = await store.selectRecord(database, sessionId, liveNow(), clock.offset(), { refreshGrace, renewGrace })
    if (!row) onEnded({ sid: sessionId, minGeneration: null })
    if (!row?.usable) return ended
    const matchesRecent = (hash: Uint8Array | null, recent: boolean) =>
      recent && hash !== null && sameBytes(hash, presented)
    if (matchesRecent(row.voided_hash, row.just_voided)) return refuse('replaced', owner)
    if (matchesRecent(row.previous_hash, row.just_rotated)) {
      // Its successor was replaced since, so it is no longer the parent of the newest token.
      if (claims.gen + 1 !== row.generation) return refuse('replaced', owner)
      const successor = {
        ...claims,
        gen: row.generation,
        iat: inSeconds(row.issued_at),
        exp: inSeconds(row.expires_at),
      }
      const token = tokens.signRefreshWithEach(successor).find((each) => sameBytes(fingerprint(each), row.token_hash))
      if (!token) return ended
      const now = inSeconds(clock.now())
      return { issued: issue({ id: userId, ...row }, proofOf(row), successor, token, now), raced: true }
    }
    return refuse('theft', owner)
  }

  /** Only `rotations` may call it: it ends a session of which an old token was used. */
  const rotate = async ({ text, claims }: RefreshToken, client: Client, by: RotatedBy): Promise<Rotated> => {
    const now = clock.now()
    const iat = inSeconds(now)
    const successor = { ...claims, gen: claims.gen + 1, iat, exp: expiryFor(claims.auth_time) }
    const token = tokens.signRefresh(successor)
    const presented = fingerprint(text)
    const [holder] = await store.rotateRecord(database, {
      id: claims.sid,
      generation: successor.gen,
      presented,
      successor: fingerprint(token),
      issuedAt: fromSeconds(iat),
      expiresAt: fromSeconds(successor.exp),
      usedAt: now,
      live: liveNow(),
      clockOffset: clock.offset(),
      client,
      atProxy: by === 'proxy',
    })
    if (!holder) return answerOldToken(claims, presented)
    return { issued: issue({ id: claims.userId, ...holder }, proofOf(holder), successor, token), raced: false }
  }

  /**
   * New tokens for a session whose user has just proven who they are, or whose proof or user has changed. The token before
   * them is refused from now on. Within the grace time it does not end the session, because another tab may be
   * sending it right now. Undefined if the session has ended, or another request has replaced the caller's token like this.
   */
  const rotateWithoutGrace = async (
    sql: Transaction,
    caller: SessionCaller,
    user: SignedInUser,
    client: Client,
    change: ProofChange = {},
  ) => {
    const now = clock.now()
    const { sessionId: sid } = caller
    const [record] = await store.lockRecord(sql, caller, liveNow())
    if (!record) return undefined
    const iat = inSeconds(now)
    const authTime = inSeconds(record.created_at)
    const claims = {
      userId: user.id,
      username: record.signed_in_as,
      sid,
      gen: record.generation + 1,
      auth_time: authTime,
      iat,
      exp: expiryFor(authTime),
    }
    const refreshToken = tokens.signRefresh(claims)
    const proof = changedProof(proofOf(record), change, fromSeconds(iat))
    await store.replaceToken(sql, {
      id: sid,
      generation: claims.gen,
      successor: fingerprint(refreshToken),
      issuedAt: fromSeconds(iat),
      expiresAt: fromSeconds(claims.exp),
      usedAt: now,
      clockOffset: clock.offset(),
      client,
      proof,
    })
    sql.afterCommit(() => onEnded({ sid, minGeneration: claims.gen }))
    return issue(user, proof, claims, refreshToken)
  }

  /**
   * When the user last proved who they are in this session. Undefined if the session has ended, or the caller's token is older
   * than the last change of the password or step-up in it.
   */
  const provenAt = async (caller: SessionCaller) => {
    const [row] = await store.selectProof(database, caller, liveNow())
    return row?.authenticated_at
  }

  return {
    beginSession,
    rotate,
    rotateWithoutGrace,

    ...endings,
    provenAt,
    /** Whether the session lives and the caller's token is not replaced. It stays so until the transaction ends. */
    lockOfCaller: async (sql: Transaction, caller: SessionCaller) =>
      (await store.lockRecord(sql, caller, liveNow())).length > 0,
    isLive: async (caller: SessionCaller) => (await provenAt(caller)) !== undefined,
    list: (userId: string) => store.selectOfUser(database, userId, liveNow()),
    purge: createPurge({ clock, liveNow }),
  }
}
