import { lastGeneration } from '../contract/access-claims.js'
import { describeDevice } from '../contract/device-names.js'
import type { Session as SessionBody } from '../contract/schemas.js'
import { isoTime, showWith, type Views } from '../lib/views.js'
import type { Database, Transaction } from '../platform/database/database.js'
import { liveNow, type SessionLife } from './live-sessions.js'
import { type Proof, proofOf, type SessionCaller } from './session-facts.js'
import * as store from './sessions.store.js'

/** A session as its user and operators see it. `username`: the name that the user had when the session began. */
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
  /** Whether the session was used as an administrator. */
  administers: boolean
  /** Whether only a key of the device renews its tokens. */
  bound: boolean
  /** The application whose device or program has the session. Null for the session of a browser. */
  application: string | null
  /** The resource for which alone the application has it. */
  resource: string | null
}

const views = {
  id: true,
  username: 'not shown: whose sessions these are is known',
  methods: true,
  provider: true,
  ip: true,
  userAgent: true,
  createdAt: isoTime,
  lastUsedAt: isoTime,
  expiresAt: 'not shown: every use moves it',
  administers: true,
  bound: true,
  application: true,
  resource: true,
} as const satisfies Views<Session, SessionBody>

/** A session in the lists of pages: that of its user, and that of administrators. */
export const sessionBody = (session: Session) => ({
  ...showWith(views, session),
  ...describeDevice(session.userAgent),
})

export type SessionProof = Proof & { begunAt: Date }

/** A session whose row this transaction holds. */
export type HeldSession = SessionProof & { signedInAs: string; generation: number; isBound: boolean }

const heldFrom = (row: store.LockedRow): HeldSession => ({
  ...proofOf(row),
  begunAt: row.created_at,
  signedInAs: row.signed_in_as,
  generation: row.generation,
  isBound: row.bound_at !== null,
})

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
  administers: row.administers_since !== null,
  bound: row.bound_at !== null,
  application: row.application,
  resource: row.resource,
})

export type SessionLookups = ReturnType<typeof createSessionLookups>

/** Finds sessions that have not ended. For a caller, tokens that were replaced do not count. */
export const createSessionLookups = ({ database, ...life }: SessionLife & { database: Database }) => {
  /**
   * How the user has proven who they are in this session, and when, by the database's clock, and in which groups they are now. Undefined if
   * the session has ended, or if the caller's token is older than the last step-up or change of the password in it.
   */
  const proofOfCaller = async (caller: SessionCaller) => {
    const [row] = await store.selectProof(database, caller, liveNow(life))
    return row && { ...proofOf(row), moment: row.moment, groups: row.groups }
  }

  return {
    proofOfCaller,
    isLive: async (caller: SessionCaller) => (await proofOfCaller(caller)) !== undefined,
    /** Whether the session lives, whichever of its tokens the caller has. */
    isLiveForAnyToken: async ({ sessionId, userId }: { sessionId: string; userId: string }) =>
      (await store.selectLive(database, sessionId, userId, liveNow(life))).length > 0,
    /**
     * Undefined if the session has ended or the caller's token was replaced. Otherwise the session cannot end before the transaction does.
     */
    lockOfCaller: async (sql: Transaction, caller: SessionCaller): Promise<HeldSession | undefined> => {
      const [row] = await store.lockRecord(sql, caller, liveNow(life))
      return row && heldFrom(row)
    },
    /** Like `lockOfCaller`, whichever of the session's tokens the caller has. */
    lockLive: async (
      sql: Transaction,
      session: Omit<SessionCaller, 'generation'>,
    ): Promise<SessionProof | undefined> => {
      const [row] = await store.lockRecord(sql, { ...session, generation: lastGeneration }, liveNow(life))
      return row && { ...proofOf(row), begunAt: row.created_at }
    },
    list: async (userId: string) => (await store.selectOfUser(database, userId, liveNow(life))).map(fromRow),
  }
}
