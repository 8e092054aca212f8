import type { Method } from '../../contract/factors.js'
import type { ProviderId } from '../../contract/providers.js'
import type { Clock } from '../../lib/clock.js'
import { fingerprint } from '../../lib/random.js'
import { uuidv7 } from '../../lib/uuid.js'
import type { Transaction } from '../../platform/database/database.js'
import type { Tokens } from '../tokens/tokens.js'
import type { Client } from './client.js'
import { epochSeconds, fromEpochSeconds, type Issued, type IssueTokens, type SignedInUser } from './issue-tokens.js'
import type { SessionLife } from './live-sessions.js'
import { firstProof, neverProven, type Proof } from './proof.js'
import * as store from './sessions.store.js'

/**
 * The first proof of a session: the hash of a password that was checked, and a device that needs no second factor. `provenAt` is when
 * the user proved it, if that was not now.
 */
export type FirstProof = {
  methods: readonly Method[]
  passwordHash?: string | undefined
  trustedDevice?: string
  provider?: ProviderId | undefined
  provenAt?: Date | undefined
  /** The proof of the session that this one begins from, with the times of its own proofs. */
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
 * Undefined if the user is disabled, if the password is not the one that was checked any more (a reset or an undo during a sign-in
 * wins), or if a second factor is needed. The tokens have the names and the email of the locked row, which may have changed since the
 * user was found.
 */
export const createBeginSession =
  ({ tokens, clock, life, issue, endSurplus, secondFactorRequired }: Dependencies) =>
  async (
    sql: Transaction,
    { id: userId, undoCount }: Pick<SignedInUser, 'id' | 'undoCount'>,
    proof: FirstProof,
    client: Client,
    sessionId?: string,
  ): Promise<Issued | undefined> => {
    const { passwordHash, trustedDevice, provider } = proof
    const checked = { userId, passwordHash: passwordHash ?? null, undoCount: undoCount ?? null }
    const [names] = await store.lockUser(sql, checked)
    if (!names) return undefined
    const now = clock.now()
    const iat = epochSeconds(now)
    const sid = sessionId ?? uuidv7(now)
    const { username } = names
    const claims = { userId, username, sid, gen: 0, auth_time: iat, iat, exp: life.expiryFor(iat) }
    const refreshToken = tokens.signRefresh(claims)
    // A trusted device stands for the code at the sign-in only.
    const provenAt = trustedDevice === undefined ? proof.provenAt : neverProven
    const sessionProof = proof.inherited ?? firstProof(proof.methods, now, provenAt)
    // For applications, a sign-in by mail is one that was made now (`auth_time`), although it makes the session fresh for nothing here.
    const isByMail = proof.inherited === undefined && proof.methods.includes('mail')
    const proofAge = isByMail ? 0 : now.getTime() - sessionProof.provenAt.getTime()
    const [inserted] = await store.insertRecord(sql, {
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
    if (!inserted) return undefined
    await endSurplus(sql, userId, sid)
    return issue({ id: userId, ...names, ...inserted }, sessionProof, claims, refreshToken)
  }
