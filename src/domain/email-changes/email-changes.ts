import { isRefused, refuse } from '../../contract/outcome.js'
import type { Clock } from '../../lib/clock.js'
import { fingerprint } from '../../lib/random.js'
import {
  acceptTransaction,
  type Database,
  isUniqueViolation,
  type Sql,
  type Transaction,
} from '../../platform/database/database.js'
import type { MailedCodes } from '../mailed-codes/mailed-codes.js'
import type { Mails } from '../mails/mails.js'
import type { Undos } from '../undos/undos.js'
import { type Email, readEmail } from '../users/email.js'
import type { UserChanges } from '../users/user-changes.js'
import type { User, Users } from '../users/users.js'
import { createAskEmailChange } from './ask-email-change.js'
import { createCheckEmailCode } from './email-change-codes.js'
import * as store from './email-changes.store.js'

export type EmailChange = { userId: string; email: Email; askedAt: Date }

const fromRow = (row: store.EmailChangeRow): EmailChange => {
  const email = readEmail(row.email)
  if (isRefused(email)) throw new Error('A waiting change holds an email that is no longer allowed')
  return { userId: row.user_id, email, askedAt: row.asked_at }
}

/** A change that is not confirmed yet. `codeSessionId`: the session that can enter its code, while there are tries left. */
type WaitingEmailChange = { email: string; askedAt: Date; expiresAt: Date; codeSessionId: string | undefined }

type ApplyOptions = { isProven: boolean; isFinal?: boolean }

/** Thrown to roll the whole change back. */
class AddressTaken extends Error {}

type Dependencies = {
  database: Database
  clock: Clock
  users: Pick<Users, 'findByEmail' | 'holdByEmail' | 'reservedFor'>
  userChanges: Pick<UserChanges, 'setEmail'>
  undos: Pick<Undos, 'extend' | 'forgetAll'>
  mails: Pick<Mails, 'queue'>
  mailedCodes: Pick<MailedCodes, 'codeOf' | 'isCodeOf'>
}

export type EmailChanges = ReturnType<typeof createEmailChanges>

/** Changes of an email that wait for the proof of the new address. The caller holds a lock on the user's row. */
export const createEmailChanges = (deps: Dependencies) => {
  const { database, clock, users, userChanges, undos } = deps

  /** Whether another user has this address, or had it until a short time ago. */
  const isTaken = async (sql: Sql, userId: string, email: Email, owner: User | undefined) => {
    const reservedFor = await users.reservedFor(sql, email.email)
    return [owner?.id, reservedFor].some((id) => id !== undefined && id !== userId)
  }

  /** Refuses a change that calls `apply` if another user has the address, even since a moment ago. The change is then rolled back. */
  const unlessTaken = async <Result>(change: Promise<Result>) => {
    try {
      return await change
    } catch (error) {
      if (error instanceof AddressTaken || isUniqueViolation(error)) return refuse('email_taken')
      throw error
    }
  }

  /**
   * Gives the user the new address. The former address is reserved in the same transaction: a trigger refuses it to a request that waited
   * for it to become free. `isFinal`: no undo link works any more.
   */
  const apply = async (sql: Transaction, user: User, email: Email, { isProven, isFinal = false }: ApplyOptions) => {
    if (await isTaken(sql, user.id, email, await users.findByEmail(sql, email.email))) throw new AddressTaken()
    if (!(await userChanges.setEmail(sql, user.id, email, { isProven }))) throw new AddressTaken()
    if (isFinal) await undos.forgetAll(sql, user.id)
    else await undos.extend(sql, user.id, user.email)
  }

  const findByHash = acceptTransaction(database)(async (sql, hash: Uint8Array) => {
    const [row] = await store.selectByHash(sql, hash, clock.now())
    return row && fromRow(row)
  })

  return {
    ask: createAskEmailChange({ ...deps, isTaken }),
    unlessTaken,
    apply,
    /** The change that a mailed link confirms. */
    find: (token: string) => findByHash(fingerprint(token)),
    findByHash,
    checkCode: createCheckEmailCode(deps),
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
