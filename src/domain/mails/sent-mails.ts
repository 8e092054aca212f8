import type { Database } from '../../platform/database/database.js'
import { emailKey } from '../users/email.js'
import type { MailKind } from './letters.js'
import * as store from './mails.store.js'

/** Sent to an address that a user has asked for. Which of them it was shows whether the address has an account. */
export const kindsHiddenFromUsers: readonly MailKind[] = ['confirm-email', 'email-taken']

/** `to` is null for a mail whose address is forgotten, `sentAt` for one that waits. */
type SentMail = { to: string | null; kind: string; createdAt: Date; sentAt: Date | null }

/** The mails to a user that are stored, for parts that send none. */
export const createSentMails = ({ database }: { database: Database }) => ({
  /**
   * The mails to a user of the last day, and those that wait to be sent, to these addresses of the user or to others. Of the mails to
   * an address that the user asked for, nothing is said: their kind shows whether it has an account.
   */
  sentTo: async (userId: string, emails: readonly string[]): Promise<SentMail[]> => {
    const filter = { recipients: emails.map(emailKey), hidden: kindsHiddenFromUsers }
    const rows = await store.selectOfUser(database, userId, filter)
    return rows.map(({ recipient, kind, created_at, sent_at }) => ({
      to: recipient,
      kind,
      createdAt: created_at,
      sentAt: sent_at,
    }))
  },
})
