import type { Clock } from '../../lib/clock.js'
import type { Database, Transaction } from '../../platform/database/database.js'
import type { Tokens } from '../tokens/tokens.js'
import { createBeginSession } from './begin-session.js'
import type { EndedSession } from './ended-sessions.js'
import { createEndings } from './endings.js'
import { createExchangeToken } from './exchange-token.js'
import { createIssueTokens } from './issue-tokens.js'
import { createSessionLife, type SessionLimits } from './live-sessions.js'
import { type Proof, proofOf } from './proof.js'
import { createPurge } from './purge.js'
import { createReplaceTokens } from './replace-tokens.js'
import type { SessionCaller } from './request-context.js'
import * as store from './sessions.store.js'

export type { FirstProof } from './begin-session.js'
export type { RotatedBy } from './exchange-token.js'
export type { Issued } from './issue-tokens.js'
export type { SessionCaller } from './request-context.js'

/** A session as its user and operators see it. `username`: the name that the user had at the sign-in. */
export type Session = {
  id: string
  username: string
  methods: string[]
  provider: string | null
  ip: string
  userAgent: string
  createdAt: Date
  lastUsedAt: Date
  expiresAt: Date
}

export type SessionProof = Proof & { begunAt: Date }

const fromRow = (row: store.SessionRow): Session => ({
  id: row.id,
  username: row.signed_in_as,
  methods: row.methods,
  provider: row.provider,
  ip: row.ip,
  userAgent: row.user_agent,
  createdAt: row.created_at,
  lastUsedAt: row.last_used_at,
  expiresAt: row.expires_at,
})

export type Sessions = ReturnType<typeof createSessions>

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
  const { endSurplus, ...endings } = createEndings({ database, onEnded })
  const life = createSessionLife(options)
  const { liveNow } = life
  const issue = createIssueTokens({ tokens, life })
  const parts = { database, tokens, clock, life, issue, onEnded }
  const secondFactorRequired = options.secondFactor === 'required'

  /**
   * How the user has proven who they are in this session, and the moment of that by the database's clock. Undefined if the session has ended, or the caller's token is older
   * than the last change of the password or step-up in it.
   */
  const proofOfCaller = async (caller: SessionCaller) => {
    const [row] = await store.selectProof(database, caller, liveNow())
    return row && { ...proofOf(row), moment: row.moment }
  }

  return {
    /** Only `domain/sign-in` may call it: it decides who gets a session. */
    beginSession: createBeginSession({ ...parts, endSurplus, secondFactorRequired }),
    /** Only `rotations` may call it: it ends a session of which an old token was used. */
    rotate: createExchangeToken({ ...parts, graces: { refreshGrace, renewGrace } }),
    replaceTokens: createReplaceTokens(parts),
    ...endings,
    /** Those of the user, whose row is held. Tokens from before are refused, and the next refresh gets new ones. */
    giveGroups: async (sql: Transaction, userId: string) => {
      const changed = await store.updateGroups(sql, userId, liveNow())
      sql.afterCommit(() => {
        for (const { id, oldest_generation } of changed) onEnded({ sid: id, minGeneration: oldest_generation })
      })
    },
    proofOfCaller,
    /** Undefined if the session has ended or the caller's token was replaced. Otherwise it lives until the transaction ends. */
    lockOfCaller: async (sql: Transaction, caller: SessionCaller): Promise<SessionProof | undefined> => {
      const [row] = await store.lockRecord(sql, caller, liveNow())
      return row && { ...proofOf(row), begunAt: row.created_at }
    },
    /** Whether the session lives, whichever of its tokens is asked for. */
    lives: async ({ sessionId, userId }: Pick<SessionCaller, 'sessionId' | 'userId'>) =>
      (await store.selectLive(database, sessionId, userId, liveNow())).length > 0,
    isLive: async (caller: SessionCaller) => (await proofOfCaller(caller)) !== undefined,
    list: async (userId: string) => (await store.selectOfUser(database, userId, liveNow())).map(fromRow),
    purge: createPurge({ clock, liveNow }),
  }
}
