import type { Clock } from '../lib/clock.js'
import type { Database, Transaction } from '../platform/database/database.js'
import { createBeginSession } from './begin-session.js'
import type { Ended } from './ended-sessions.js'
import { createEndings } from './endings.js'
import { createExchangeToken } from './exchange-token.js'
import { createIssueTokens } from './issue-tokens.js'
import { createSessionLife, type SessionLimits } from './live-sessions.js'
import { createLockOfHolder } from './lock-of-holder.js'
import { createPurge } from './purge.js'
import { createReplaceTokens } from './replace-tokens.js'
import * as store from './sessions.store.js'
import type { AccessClaims, Tokens } from './tokens.js'

export type { InitialProof } from './begin-session.js'
export type { RotatedBy } from './exchange-token.js'
export type { IssuedTokens } from './issue-tokens.js'
export type { TokenHolder } from './lock-of-holder.js'
export type { SessionCaller } from './request-context.js'

export type Sessions = ReturnType<typeof createSessions>

type Options = SessionLimits & {
  database: Database
  tokens: Tokens
  clock: Clock
  refreshGrace: number
  renewGrace: number
  /** `required`: every session needs a second factor, even if the account has none. */
  secondFactor?: 'optional' | 'required'
  /**
   * Called for each session that this process has ended or did not find, and for tokens that it has replaced, as soon as the change is
   * committed.
   */
  onEnded?: (ended: Ended) => void
}

/** Begins, renews and ends sessions. `session-lookups` finds them. */
export const createSessions = (options: Options) => {
  const { database, tokens, clock, refreshGrace, renewGrace, onEnded = () => undefined } = options
  const { endSurplus, ...endings } = createEndings({ database, clock, onEnded })
  const life = createSessionLife(options)
  const { liveNow } = life
  const issue = createIssueTokens({ tokens, life, accessTokenLifetime: options.lifetimes.accessToken })
  const parts = { database, tokens, clock, life, issue, onEnded }
  const graces = { refreshGrace, renewGrace }
  const secondFactorRequired = options.secondFactor === 'required'

  return {
    /** Only `sign-in` may call this function, because it decides who gets a session. */
    beginSession: createBeginSession({ ...parts, endSurplus, secondFactorRequired }),
    /** Only `rotations` may call this function, because it ends a session of which an old token was used. */
    rotate: createExchangeToken({ ...parts, graces }),
    /** Whether a token was issued so lately that requests with the token before it may still arrive. */
    isNew: ({ iat }: Pick<AccessClaims, 'iat'>) => clock.now().getTime() - iat * 1000 <= renewGrace,
    lockOfHolder: createLockOfHolder({ clock, life, graces }),
    replaceTokens: createReplaceTokens(parts),
    ...endings,
    /**
     * Copies the groups of the user, whose row is held, to the sessions. Access tokens from before the change are refused, and the next
     * refresh gets new tokens.
     */
    giveGroups: async (sql: Transaction, userId: string) => {
      const changedRows = await store.updateGroups(sql, userId, liveNow())
      sql.afterCommit(() => {
        for (const { id, oldest_generation } of changedRows) onEnded({ sid: id, minGeneration: oldest_generation })
      })
    },
    purge: createPurge({ clock, liveNow }),
  }
}
