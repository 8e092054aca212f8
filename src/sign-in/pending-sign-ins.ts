import type { AccountChangesRoom } from '../account-changes/open-account-changes.js'
import { type NextStep, nextSteps, type OpenQuestion, openQuestions, type ProofStep } from '../contract/factors.js'
import { isProviderId } from '../contract/providers.js'
import { readWay, type SignedInBy, type WaitingBy, waysToSignIn } from '../factors/ways-to-sign-in.js'
import { challengeLifetime } from '../http/cookie-table.js'
import type { Client } from '../http/request-origin.js'
import { type Clock, later } from '../lib/clock.js'
import { fingerprint, randomToken } from '../lib/random.js'
import type { MessagesRoom } from '../messages/open-messages.js'
import { acceptTransaction, type Database, type Sql, type Transaction } from '../platform/database/database.js'
import { readFacts, type SessionFacts } from '../sessions/session-facts.js'
import type { UsersRoom } from '../users/open-users.js'
import type { Identity, User } from '../users/users.js'
import * as store from './pending-sign-ins.store.js'

/** The first proof of a sign-in, and the user as it was then. `link` is written together with the session. */
type NewPendingSignIn = {
  user: User
  kind: ProofStep
  by: WaitingBy
  facts: SessionFacts
  passwordHash: string | null
  link: Identity | undefined
  /** Whether the first proof has opened the enrolment, because it came with a mail to the account's address. */
  isOpened: boolean
  client: Client
}

/** A sign-in whose proofs are complete. `token`: the token of its row, if it has waited before. */
type CompleteSignIn = {
  user: User
  kind: OpenQuestion
  by: SignedInBy
  facts: SessionFacts
  passwordHash: string | null
  token: string | undefined
  client: Client
}

/** A sign-in that waits. Codes and secrets of the sign-in are bound to `id`, which opens nothing. */
export type PendingSignIn = {
  id: string
  userId: string
  kind: NextStep
  by: SignedInBy
  facts: SessionFacts
  /** Whether no proof is missing. */
  isProven: boolean
  link: Identity | undefined
  /** Whether this enrolment was opened, by a mailed code, the password, or a first proof that came with a mail. */
  isOpened: boolean
  triesLeft: number
  expiresAt: Date
}

/** A sign-in that expired without its second proof, and the client that had given the first. */
type AbandonedSignIn = { userId: string; client: Client; begunAt: Date }

const wayOf = ({ way, provider }: { way: string; provider: string | null }) =>
  readWay(way, isProviderId(provider) ? provider : undefined)

const isOpenQuestion = (kind: string): kind is OpenQuestion => openQuestions.some((each) => each === kind)

const abandonedIn = (rows: readonly store.ExpiredRow[]): AbandonedSignIn[] =>
  rows.flatMap(({ user_id: userId, kind, way, provider, ip, user_agent: userAgent, begun_at: begunAt }) => {
    const by = wayOf({ way, provider })
    // A client that has given every proof is the owner, and no stranger of whom the owner must be told.
    return by && !isOpenQuestion(kind) && waysToSignIn[by.way].tellsOfUnfinished
      ? [{ userId, client: { ip, userAgent }, begunAt }]
      : []
  })

const fromRow = (row: store.PendingSignInRow): PendingSignIn | undefined => {
  const by = wayOf(row)
  const kind = nextSteps.find((each) => each === row.kind)
  const facts = readFacts(row.facts)
  if (!by || !kind || !facts) return undefined
  return {
    id: row.id,
    userId: row.user_id,
    kind,
    by,
    facts,
    isProven: isOpenQuestion(kind),
    link: by.way === 'provider' && row.subject !== null ? { provider: by.provider, subject: row.subject } : undefined,
    isOpened: row.is_opened,
    triesLeft: row.tries_left,
    expiresAt: row.expires_at,
  }
}

export type PendingSignIns = ReturnType<typeof createPendingSignIns>

/**
 * Sign-ins that wait for the second proof, for an enrolment, or for an answer to an open question. The table of account changes says which
 * changes of the user end them.
 */
export const createPendingSignIns = ({ database, clock }: { database: Database; clock: Clock }) => {
  const newRow = (kind: NextStep, { way, provider }: SignedInBy) => {
    const token = randomToken()
    const now = clock.now()
    const hash = fingerprint(token)
    const expiresAt = later(now, challengeLifetime)
    return { token, now, row: { hash, kind, way, provider: provider ?? null, expiresAt } }
  }

  return {
    /**
     * Lets a sign-in wait for its second proof, and returns the token for the browser. Undefined if the password has changed since it was
     * checked, or the account was disabled or taken back.
     */
    begin: async (sql: Sql, { user, kind, by, facts, passwordHash, link, isOpened, client }: NewPendingSignIn) => {
      const { token, now, row } = newRow(kind, by)
      const insertedRows = await store.insert(sql, {
        ...row,
        userId: user.id,
        subject: link?.subject ?? null,
        passwordHash,
        undoCount: user.undoCount,
        client,
        begunAt: now,
        openedAt: isOpened ? now : null,
        facts,
      })
      return insertedRows.length > 0 ? token : undefined
    },
    /** Lets a sign-in whose proofs are complete wait for an answer. If it already has a row, the row gets a new token for the browser. */
    waitForAnswer: async (
      sql: Sql,
      { user, kind, by, facts, passwordHash, token: formerToken, client }: CompleteSignIn,
    ) => {
      const { token, now, row } = newRow(kind, by)
      const withFacts = { ...row, facts }
      const { id: userId, undoCount } = user
      const asNew = { userId, subject: null, passwordHash, undoCount, client, begunAt: now, openedAt: null }
      const rows =
        formerToken === undefined
          ? await store.insert(sql, { ...withFacts, ...asNew })
          : await store.moveOn(sql, fingerprint(formerToken), withFacts)
      return rows.length > 0 ? token : undefined
    },
    /** Undefined if the sign-in has expired, was finished, or has no tries left. */
    find: acceptTransaction(database)(async (sql, token: string) => {
      const [row] = await store.select(sql, fingerprint(token), clock.now())
      return row && fromRow(row)
    }),
    /** Like `find`, and uses up a try. */
    reserveTry: async (token: string) => {
      const [row] = await store.reserveTry(database, fingerprint(token), clock.now())
      return row && fromRow(row)
    },
    /** Opens an enrolment after a right mailed code or password. False if the sign-in was finished or voided meanwhile. */
    open: async (sql: Sql, token: string) => (await store.markOpened(sql, fingerprint(token), clock.now())).length > 0,
    giveBackTry: async (token: string) => {
      await store.giveBackTry(database, fingerprint(token))
    },
    /** False if the sign-in was finished or voided meanwhile. */
    lock: async (sql: Sql, token: string) => (await store.lock(sql, fingerprint(token))).length > 0,
    remove: async (sql: Sql, token: string) => {
      await store.remove(sql, fingerprint(token))
    },
    /** Deletes what has expired, and returns those whose owner must be told (`abandoned`). `count` is how many were deleted. */
    takeExpired: async (sql: Sql, limit: number) => {
      const rows = await store.takeExpired(sql, clock.now(), limit)
      return { count: rows.length, abandoned: abandonedIn(rows) }
    },
  }
}

type Telling = UsersRoom & MessagesRoom & AccountChangesRoom & { pendingSignIns: PendingSignIns }

const tellOf = async (
  { users, events, accountChanges }: Telling,
  sql: Transaction,
  { userId, client, begunAt: at }: AbandonedSignIn,
) => {
  const user = await users.findEnabled(sql, userId)
  if (!user || (await events.hasSignedIn(sql, userId, client, at))) return
  await accountChanges.bySignIn(sql, { user, client, at }, { sign_in_unfinished: {} })
}

/**
 * Deletes sign-ins whose second step was never finished. The owner gets a mail, because another person may know the password. No mail is
 * sent if the same browser has signed in since, and at most one a day for an account (see `mail-limits`).
 */
export const purgeUnfinished = async (services: Telling, sql: Transaction, limit: number) => {
  const { count, abandoned } = await services.pendingSignIns.takeExpired(sql, limit)
  for (const signIn of abandoned) await tellOf(services, sql, signIn)
  return count
}
