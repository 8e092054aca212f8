import type { AccountChangesRoom } from '../account-changes/open-account-changes.js'
import { isRefused, refuse } from '../contract/outcome.js'
import type { Client } from '../http/request-origin.js'
import { type Clock, later } from '../lib/clock.js'
import { hours } from '../lib/durations.js'
import { fingerprint, randomToken } from '../lib/random.js'
import type { MessagesRoom } from '../messages/open-messages.js'
import { acceptTransaction, type Database, type Sql, type Transaction } from '../platform/database/database.js'
import type { SessionCaller } from '../sessions/session-facts.js'
import { isNameViolation } from '../users/login-names.js'
import { type Email, readEmail } from '../users/names.js'
import type { UsersRoom } from '../users/open-users.js'
import type { User } from '../users/users.js'
import * as store from './email-changes.store.js'

const lifetime = 24 * hours

/** How many codes a user can try for each change. */
const codeTries = 5

export type EmailChange = { userId: string; email: Email; askedAt: Date }

const fromRow = (row: store.EmailChangeRow): EmailChange => {
  const email = readEmail(row.email)
  if (isRefused(email)) throw new Error('A waiting change holds an email that is no longer allowed')
  return { userId: row.user_id, email, askedAt: row.asked_at }
}

/** A change that is not confirmed yet. `codeSessionId`: the session that can enter its code, while there are tries left. */
type WaitingEmailChange = { email: string; askedAt: Date; expiresAt: Date; codeSessionId: string | undefined }

/** `withheld`: the mail to the new address is not sent. `sessionId`: the session that can enter the code of the mail. */
type Mailing = { client: Client; withheld: boolean; sessionId: string }

type Services = UsersRoom & MessagesRoom & AccountChangesRoom & { database: Database; clock: Clock }

/** Each change has its own code, so the code of an earlier mail confirms no later address. */
const codeIdOf = (hash: Uint8Array) => `email change ${Buffer.from(hash).toString('hex')}`

/** Whether another user has this address, or had it until a short time ago. */
const isTaken = async ({ users }: Services, sql: Transaction, userId: string, { email }: Email) => {
  const [owner, reservedFor] = await Promise.all([users.holdByEmail(sql, email), users.reservedFor(sql, email)])
  return [owner?.id, reservedFor].some((id) => id !== undefined && id !== userId)
}

/**
 * Mails the link to the new address, or a notice if the address is taken. Both cases write the same rows, so that the user sees no
 * difference.
 */
const mailNewAddress = async (
  services: Services,
  sql: Transaction,
  userId: string,
  email: Email,
  token: string,
  { client, withheld }: Mailing,
) => {
  const { mails, mailedCodes } = services
  const code = mailedCodes.codeOf(codeIdOf(fingerprint(token)))
  const letter = (await isTaken(services, sql, userId, email))
    ? ({ template: 'email-taken', values: {} } as const)
    : ({ template: 'confirm-email', values: { token, code, validFor: lifetime } } as const)
  await mails.tell(sql, { to: email.email, userId, ...letter, client, withheld })
}

/**
 * Mails a link and a code to the new address. An earlier change becomes void even if the new address has had too many mails: the user must
 * not see whether a mail was queued, and no longer wants the earlier address.
 */
const ask = async (services: Services, sql: Transaction, { id: userId }: User, email: Email, mailing: Mailing) => {
  const { clock } = services
  const token = randomToken()
  const replaced = store.replace(sql, {
    userId,
    email,
    expiresAt: later(clock.now(), lifetime),
    sessionId: mailing.sessionId,
    codeTries,
    hash: fingerprint(token),
    clockOffset: clock.offset(),
  })
  sql.unawaited(replaced)
  await mailNewAddress(services, sql, userId, email, token, mailing)
}

/** The hash of the change that the session has asked for, if the code is right. A try is counted before the code is compared. */
const checkCode = async ({ database, clock, mailedCodes }: Services, caller: SessionCaller, code: string) => {
  const [row] = await store.spendTry(database, caller, clock.now())
  if (!row) {
    const [waitingChange] = await store.selectWaiting(database, caller.userId, clock.now())
    const isOfAnother = waitingChange && waitingChange.session_id !== caller.sessionId
    return refuse(isOfAnother ? 'other_browser' : 'mailed_code_void')
  }
  if (mailedCodes.isCodeOf(codeIdOf(row.hash), code)) return { hash: row.hash }
  return refuse(row.code_tries_left > 0 ? 'wrong_mailed_code' : 'mailed_code_void')
}

type ApplyOptions = { isProven: boolean; isFinal?: boolean }

/** Thrown to roll the whole change back. */
class AddressTaken extends Error {}

export type EmailChanges = ReturnType<typeof createEmailChanges>

/** Changes of an email that wait for the proof of the new address. The caller holds a lock on the user's row. */
export const createEmailChanges = (services: Services) => {
  const { database, clock, userChanges, undos } = services

  /** Refuses a change that calls `apply` if another user has the address, even since a moment ago. The change is then rolled back. */
  const unlessTaken = async <Result>(change: Promise<Result>) => {
    try {
      return await change
    } catch (error) {
      if (error instanceof AddressTaken || isNameViolation(error, 'email')) return refuse('email_taken')
      throw error
    }
  }

  /**
   * Gives the user the new address. The former address is reserved in the same transaction: a trigger refuses it to a request that waited
   * for it to become free, and a constraint an address that another user has. `isFinal`: no undo link works any more.
   */
  const apply = async (sql: Transaction, user: User, email: Email, { isProven, isFinal = false }: ApplyOptions) => {
    const [isSet] = await Promise.all([
      userChanges.setEmail(sql, user.id, email, { isProven }),
      isFinal ? undos.forgetAll(sql, user.id) : undos.extend(sql, user.id, user.email),
    ])
    if (!isSet) throw new AddressTaken()
  }

  const findByHash = acceptTransaction(database)(async (sql, hash: Uint8Array) => {
    const [row] = await store.selectByHash(sql, hash, clock.now())
    return row && fromRow(row)
  })

  return {
    ask: (sql: Transaction, user: User, email: Email, mailing: Mailing) => ask(services, sql, user, email, mailing),
    unlessTaken,
    apply,
    /** The change that a mailed link confirms. */
    find: (token: string) => findByHash(fingerprint(token)),
    findByHash,
    checkCode: (caller: SessionCaller, code: string) => checkCode(services, caller, code),
    /** The change that waits for its confirmation. */
    waitingOf: async (userId: string): Promise<WaitingEmailChange | undefined> => {
      const [row] = await store.selectWaiting(database, userId, clock.now())
      const codeSessionId = row && row.code_tries_left > 0 ? row.session_id : undefined
      return row && { email: row.email, askedAt: row.asked_at, expiresAt: row.expires_at, codeSessionId }
    },
    /** False if no change was waiting. */
    forget: async (sql: Sql, userId: string) => (await store.remove(sql, userId)).length > 0,
  }
}
