import type { NextStep } from '../../contract/factors.js'
import { isProviderId } from '../../contract/providers.js'
import { type Clock, later } from '../../lib/clock.js'
import { minutes } from '../../lib/durations.js'
import { fingerprint, randomToken } from '../../lib/random.js'
import type { Database, Sql } from '../../platform/database/database.js'
import { createOptionalTransaction } from '../../platform/database/optional-transaction.js'
import type { Client } from '../sessions/client.js'
import type { Identity, User } from '../users/users.js'
import * as store from './challenges.store.js'
import { readWaiting, type WaitingBy, waysToSignIn } from './ways-to-sign-in.js'

export const challengeLifetime = 10 * minutes

/** The first proof of a sign-in, by the user as it was then. `link` is written together with the session. */
type Begun = {
  user: Pick<User, 'id' | 'undoCount'>
  kind: NextStep
  by: WaitingBy
  passwordHash: string | undefined
  link: Identity | undefined
  client: Client
}

/** `id` is what codes and secrets of this sign-in are bound to; it opens nothing. */
export type Challenge = {
  id: string
  userId: string
  kind: NextStep
  by: WaitingBy
  link: Identity | undefined
  /** Whether the code was entered that was mailed for this enrolment. */
  mailProven: boolean
  triesLeft: number
  expiresAt: Date
}

/** One that expired without a second proof, and who had given the first. */
export type AbandonedChallenge = { userId: string; client: Client; begunAt: Date }

const waitingIn = ({ way, provider }: Pick<store.ChallengeRow, 'way' | 'provider'>) =>
  readWaiting(way, isProviderId(provider) ? provider : undefined)

const abandonedIn = (rows: readonly store.ExpiredRow[]): AbandonedChallenge[] =>
  rows.flatMap(({ user_id: userId, way, provider, ip, user_agent: userAgent, begun_at: begunAt }) => {
    const by = waitingIn({ way, provider })
    return by && waysToSignIn[by.way].tellsOfUnfinished ? [{ userId, client: { ip, userAgent }, begunAt }] : []
  })

const fromRow = (row: store.ChallengeRow): Challenge | undefined => {
  const by = waitingIn(row)
  if (!by) return undefined
  return {
    id: row.id,
    userId: row.user_id,
    kind: row.kind === 'enrolment' ? 'enrolment' : 'second_factor',
    by,
    link: by.way === 'provider' && row.subject !== null ? { provider: by.provider, subject: row.subject } : undefined,
    mailProven: row.mail_proven,
    triesLeft: row.tries_left,
    expiresAt: row.expires_at,
  }
}

export type Challenges = ReturnType<typeof createChallenges>

/**
 * Sign-ins that wait for the second proof, or for an enrolment. The table of account changes says which changes of the user
 * end them.
 */
export const createChallenges = ({ database, clock }: { database: Database; clock: Clock }) => ({
  /** The id for the browser; undefined if the password has changed since it was checked, or the user was disabled or taken back. */
  begin: async (sql: Sql, { user, kind, by, passwordHash, link, client }: Begun) => {
    const token = randomToken()
    const now = clock.now()
    const inserted = await store.insert(sql, {
      hash: fingerprint(token),
      userId: user.id,
      kind,
      way: by.way,
      provider: by.provider ?? null,
      subject: link?.subject ?? null,
      expiresAt: later(now, challengeLifetime),
      passwordHash: passwordHash ?? null,
      undoCount: user.undoCount,
      client,
      begunAt: now,
    })
    return inserted.length > 0 ? token : undefined
  },
  /** Undefined if it has expired, was used, or has no tries left. */
  find: createOptionalTransaction(database)(async (sql, token: string) => {
    const [row] = await store.select(sql, fingerprint(token), clock.now())
    return row && fromRow(row)
  }),
  /** The same, and uses up a try. */
  reserveTry: async (token: string) => {
    const [row] = await store.reserveTry(database, fingerprint(token), clock.now())
    return row && fromRow(row)
  },
  /** After a right mailed code. False if it was used or voided in the meantime. */
  proveMail: async (sql: Sql, token: string) =>
    (await store.proveMail(sql, fingerprint(token), clock.now())).length > 0,
  giveBackTry: async (token: string) => {
    await store.giveBackTry(database, fingerprint(token))
  },
  /** False if it was used or voided in the meantime. */
  lock: async (sql: Sql, token: string) => (await store.lock(sql, fingerprint(token))).length > 0,
  remove: async (sql: Sql, token: string) => {
    await store.remove(sql, fingerprint(token))
  },
  removeAll: async (sql: Sql, userId: string) => {
    await store.removeAll(sql, userId)
  },
  /** A sign-in by a provider does not go on when the provider is unlinked. */
  removeOfProvider: async (sql: Sql, userId: string, provider: Identity['provider']) => {
    await store.removeOfProvider(sql, userId, provider)
  },
  /** Deletes what has expired, and says which of it a password had begun. `count` is how many were deleted. */
  takeExpired: async (sql: Sql, limit: number) => {
    const rows = await store.takeExpired(sql, clock.now(), limit)
    return { count: rows.length, abandoned: abandonedIn(rows) }
  },
})
