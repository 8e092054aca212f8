import type { Database } from '../../platform/database/database.js'
import { emailKey } from '../users/email.js'
import * as store from './mails.store.js'

/** Whose mails: an account, or an address that has none. */
export type MailOwner = { userId?: string; email: string }

export type WaitingMail = store.WaitingRow

/** Mails that the mail server has not accepted yet, for operators. */
export const createWaitingMails = ({ database }: { database: Database }) => ({
  /** Oldest first. */
  list: (limit: number, owner?: MailOwner) =>
    owner
      ? store.selectWaitingOf(database, owner.userId ?? null, emailKey(owner.email), limit)
      : store.selectWaiting(database, limit),
})
