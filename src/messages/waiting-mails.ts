import type { Database } from '../platform/database/database.js'
import { emailKey } from '../users/names.js'
import * as store from './mails.store.js'

/** The owner of mails: an account, or an address that has none. */
export type MailOwner = { userId?: string; email: string }

/** `failure`: why the last attempt failed. Null before the first attempt. */
export type WaitingMail = {
  id: string
  kind: string
  userId: string | null
  username: string | null
  createdAt: Date
  attempts: number
  nextAttemptAt: Date
  failure: string | null
}

const fromRow = (row: store.WaitingRow): WaitingMail => ({
  id: row.id,
  kind: row.kind,
  userId: row.user_id,
  username: row.username,
  createdAt: row.created_at,
  attempts: row.attempts,
  nextAttemptAt: row.next_attempt_at,
  failure: row.last_error,
})

/** Mails that the mail server has not accepted yet, for operators. */
export const createWaitingMails = ({ database }: { database: Database }) => ({
  /** Oldest first. */
  list: async (limit: number, owner?: MailOwner) => {
    const rows = owner
      ? await store.selectWaitingOf(database, owner.userId ?? null, emailKey(owner.email), limit)
      : await store.selectWaiting(database, limit)
    return rows.map(fromRow)
  },
})
