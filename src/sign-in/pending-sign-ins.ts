import type { AccountChanges } from '../account-changes/account-changes.js'
import {
  type AmrMethod,
  amrMethods,
  type LastStep,
  lastSteps,
  type NextStep,
  nextSteps,
  type ProofStep,
} from '../contract/factors.js'
import { isProviderId } from '../contract/providers.js'
import { readWay, type SignedInBy, type WaitingBy, waysToSignIn } from '../factors/ways-to-sign-in.js'
import { challengeLifetime } from '../http/cookie-table.js'
import type { Client } from '../http/request-origin.js'
import { type Clock, later } from '../lib/clock.js'
import { fingerprint, randomToken } from '../lib/random.js'
import type { Events } from '../messages/events.js'
import { acceptTransaction, type Database, type Sql, type Transaction } from '../platform/database/database.js'
import type { InitialProof } from '../sessions/sessions.js'
import type { Identity, User, Users } from '../users/users.js'
import * as store from './pending-sign-ins.store.js'

/** The first proof of a sign-in, and the user as it was then. `link` is written together with the session. */
type NewChallenge = {
  user: User
  kind: ProofStep
  by: WaitingBy
  passwordHash: string | undefined
  link: Identity | undefined
  /** Whether the first proof was given with a mail to the account's address. */
  mailProven: boolean
  client: Client
}

/** A sign-in whose proofs are complete. `token`: the token of its row, if it has waited before. */
type CompleteSignIn = {
  user: User
  kind: LastStep
  by: SignedInBy
  proof: InitialProof
  token: string | undefined
  client: Client
}

/** A sign-in that waits. Codes and secrets of the sign-in are bound to `id`, which opens nothing. */
export type Challenge = {
  id: string
  userId: string
  kind: NextStep
  by: SignedInBy
  /** The proof that its session begins with. Undefined while a proof is missing. */
  proof: InitialProof | undefined
  link: Identity | undefined
  /** Whether this enrolment was opened, by a mailed code, the password, or a first proof that came with a mail. */
  isOpened: boolean
  triesLeft: number
  expiresAt: Date
}

/** A sign-in that expired without its second proof, and the client that had given the first. */
export type AbandonedChallenge = { userId: string; client: Client; begunAt: Date }

const wayOf = ({ way, provider }: Pick<store.ChallengeRow, 'way' | 'provider'>) =>
  readWay(way, isProviderId(provider) ? provider : undefined)

const isLastStep = (kind: string): kind is LastStep => lastSteps.some((each) => each === kind)
const isMethod = (method: string): method is AmrMethod => Object.hasOwn(amrMethods, method)

const proofIn = (row: store.ChallengeRow, { provider }: SignedInBy): InitialProof | undefined =>
  row.methods === null
    ? undefined
    : {
        methods: row.methods.filter(isMethod),
        provider,
        provenAt: row.proven_at ?? undefined,
        ...(row.trusted_device !== null && { trustedDevice: row.trusted_device }),
      }

const abandonedIn = (rows: readonly store.ExpiredRow[]): AbandonedChallenge[] =>
  rows.flatMap(({ user_id: userId, kind, way, provider, ip, user_agent: userAgent, begun_at: begunAt }) => {
    const by = wayOf({ way, provider })
    // A client that has given every proof is the owner, and no stranger of whom the owner must be told.
    return by && !isLastStep(kind) && waysToSignIn[by.way].tellsOfUnfinished
      ? [{ userId, client: { ip, userAgent }, begunAt }]
      : []
  })

const fromRow = (row: store.ChallengeRow): Challenge | undefined => {
  const by = wayOf(row)
  const kind = nextSteps.find((each) => each === row.kind)
  const proof = by && proofIn(row, by)
  if (!by || !kind || isLastStep(kind) !== (proof !== undefined)) return undefined
  return {
    id: row.id,
    userId: row.user_id,
    kind,
    by,
    proof,
    link: by.way === 'provider' && row.subject !== null ? { provider: by.provider, subject: row.subject } : undefined,
    isOpened: row.mail_proven,
    triesLeft: row.tries_left,
    expiresAt: row.expires_at,
  }
}

type ChallengesDependencies = { database: Database; clock: Clock }

const createBeginnings = ({ clock }: Pick<ChallengesDependencies, 'clock'>) => ({
  /**
   * Begins a challenge and returns the token for the browser. Undefined if the password has changed since it was checked, or the account
   * was disabled or taken back.
   */
  begin: async (sql: Sql, { user, kind, by, passwordHash, link, mailProven, client }: NewChallenge) => {
    const token = randomToken()
    const now = clock.now()
    const insertedRows = await store.insert(sql, {
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
      mailProvenAt: mailProven ? now : null,
      proof: null,
    })
    return insertedRows.length > 0 ? token : undefined
  },
  /** Lets a sign-in whose proofs are complete wait for a last step. If it already has a row, the row gets a new token for the browser. */
  waitFor: async (sql: Sql, { user, kind, by, proof, token: formerToken, client }: CompleteSignIn) => {
    const token = randomToken()
    const now = clock.now()
    const row = {
      hash: fingerprint(token),
      kind,
      way: by.way,
      provider: by.provider ?? null,
      expiresAt: later(now, challengeLifetime),
      proof: {
        methods: proof.methods,
        provenAt: proof.provenAt ?? null,
        trustedDevice: proof.trustedDevice ?? null,
      },
    }
    const { id: userId, undoCount } = user
    const rows =
      formerToken === undefined
        ? await store.insert(sql, {
            ...row,
            userId,
            subject: null,
            passwordHash: proof.passwordHash ?? null,
            undoCount,
            client,
            begunAt: now,
            mailProvenAt: null,
          })
        : await store.moveOn(sql, fingerprint(formerToken), row)
    return rows.length > 0 ? token : undefined
  },
})

export type Challenges = ReturnType<typeof createChallenges>

/**
 * Sign-ins that wait for the second proof, for an enrolment, or for the last steps. The table of account changes says which changes of the
 * user end them.
 */
export const createChallenges = ({ database, clock }: ChallengesDependencies) => ({
  ...createBeginnings({ clock }),
  /** Undefined if the challenge has expired, was used, or has no tries left. */
  find: acceptTransaction(database)(async (sql, token: string) => {
    const [row] = await store.select(sql, fingerprint(token), clock.now())
    return row && fromRow(row)
  }),
  /** Like `find`, and uses up a try. */
  reserveTry: async (token: string) => {
    const [row] = await store.reserveTry(database, fingerprint(token), clock.now())
    return row && fromRow(row)
  },
  /** Opens an enrolment after a right mailed code or password. False if the challenge was used or voided meanwhile. */
  open: async (sql: Sql, token: string) => (await store.markOpened(sql, fingerprint(token), clock.now())).length > 0,
  giveBackTry: async (token: string) => {
    await store.giveBackTry(database, fingerprint(token))
  },
  /** False if the challenge was used or voided meanwhile. */
  lock: async (sql: Sql, token: string) => (await store.lock(sql, fingerprint(token))).length > 0,
  remove: async (sql: Sql, token: string) => {
    await store.remove(sql, fingerprint(token))
  },
  /** Deletes expired challenges, and returns those whose owner must be told (`abandoned`). `count` is how many were deleted. */
  takeExpired: async (sql: Sql, limit: number) => {
    const rows = await store.takeExpired(sql, clock.now(), limit)
    return { count: rows.length, abandoned: abandonedIn(rows) }
  },
})

type UnfinishedSignInsDependencies = {
  challenges: Challenges
  users: Users
  events: Events
  accountChanges: AccountChanges
}

/**
 * Sign-ins whose second step was never finished. The owner gets a mail, because another person may know the password. No mail is sent if
 * the same browser has signed in since, and at most one a day for an account (see `mail-limits`).
 */
export const createUnfinishedSignIns = ({
  challenges,
  users,
  events,
  accountChanges,
}: UnfinishedSignInsDependencies) => {
  const tell = async (sql: Transaction, { userId, client, begunAt: at }: AbandonedChallenge) => {
    const user = await users.findEnabled(sql, userId)
    if (!user || (await events.hasSignedIn(sql, userId, client, at))) return
    await accountChanges.bySignIn(sql, { user, client, at }, { sign_in_unfinished: {} })
  }

  return {
    purge: async (sql: Transaction, limit: number) => {
      const { count, abandoned } = await challenges.takeExpired(sql, limit)
      for (const challenge of abandoned) await tell(sql, challenge)
      return count
    },
  }
}
