import type { AmrMethod } from '../contract/factors.js'
import type { ProviderId } from '../contract/providers.js'

import type { Client } from '../http/request-origin.js'
import type { Clock } from '../lib/clock.js'
import { fingerprint } from '../lib/random.js'

import { uuidv7 } from '../lib/uuid.js'
import type { Transaction } from '../platform/database/database.js'
import {
  epochSeconds,
  fromEpochSeconds,
  type IssuedTokens,
  type IssueTokens,
  type SignedInUser,
} from './issue-tokens.js'
import type { SessionLife } from './live-sessions.js'
import { initialProof, neverProven, type Proof } from './proof.js'
import * as store from './sessions.store.js'
import type { Tokens } from './tokens.js'

/**
 * The proof with which a session begins, by one factor or by two. `passwordHash`: the hash of the password that was checked.
 * `trustedDevice`: the device that needs no second factor. `provenAt`: when the user gave the proof, if not now.
 */
export type InitialProof = {
  methods: readonly AmrMethod[]
  passwordHash?: string | undefined
  trustedDevice?: string
  provider?: ProviderId | undefined
  provenAt?: Date | undefined
  /** The proof of the session from which this session begins, with its own times. */
  inherited?: Proof
}

type Dependencies = {
  tokens: Tokens
  clock: Clock
  life: SessionLife
  issue: IssueTokens
  endSurplus: (sql: Transaction, userId: string, newSession: string) => Promise<void>
  secondFactorRequired: boolean
}

/**
 * Begins a session. Undefined if the user is disabled, if the password has changed since it was checked (a reset or an undo during a
 * sign-in wins), or if a second factor is needed. The tokens have the names and the email of the locked row, which may have changed since
 * the user was found.
 */
export const createBeginSession =
  ({ tokens, clock, life, issue, endSurplus, secondFactorRequired }: Dependencies) =>
  async (
    sql: Transaction,
    { id: userId, undoCount }: Pick<SignedInUser, 'id' | 'undoCount'>,
    proof: InitialProof,
    client: Client,
    sessionId?: string,
  ): Promise<IssuedTokens | undefined> => {
    const { passwordHash, trustedDevice, provider } = proof
    const checkedUser = { userId, passwordHash: passwordHash ?? null, undoCount: undoCount ?? null }
    const [names] = await store.lockUser(sql, checkedUser)
    if (!names) return undefined
    const now = clock.now()
    const iat = epochSeconds(now)
    const sid = sessionId ?? uuidv7(now)
    const { username } = names
    const claims = { userId, username, sid, gen: 0, auth_time: iat, iat, exp: life.expiryFor(iat) }
    const refreshToken = tokens.signRefresh(claims)
    // A trusted device replaces the code at the sign-in only. It does not make the session fresh.
    const provenAt = trustedDevice === undefined ? proof.provenAt : neverProven
    const sessionProof = proof.inherited ?? initialProof(proof.methods, now, provenAt)
    // Applications are told that the user signed in just now (`auth_time`), although a sign-in by mail does not make the session fresh here.
    const isByMail = proof.inherited === undefined && proof.methods.includes('mail')
    const proofAge = isByMail ? 0 : now.getTime() - sessionProof.provenAt.getTime()
    const [insertedRow] = await store.insertRecord(sql, {
      id: sid,
      userId,
      username,
      tokenHash: fingerprint(refreshToken),
      issuedAt: fromEpochSeconds(iat),
      expiresAt: fromEpochSeconds(claims.exp),
      clockOffset: clock.offset(),
      client,
      proof: sessionProof,
      proofAge,
      trustedDevice: trustedDevice ?? null,
      provider: provider ?? null,
      secondFactorRequired,
    })
    if (!insertedRow) return undefined
    await endSurplus(sql, userId, sid)
    const { accepted_from: acceptedFrom, groups } = insertedRow
    return issue({ id: userId, ...names, groups }, sessionProof, claims, refreshToken, acceptedFrom)
  }
