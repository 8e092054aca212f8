import type { Database } from '../platform/database/database.js'
import { emailKey } from '../users/names.js'
import type { MailKind } from './letters.js'
import * as store from './mails.store.js'

/** Mails to the new address that a user has asked for. Which of the two was sent shows whether another account has that address. */
export const kindsHiddenFromUsers: readonly MailKind[] = ['confirm-email', 'email-taken']

/** `to` is null if the address was forgotten. `sentAt` is null if the mail waits. */
type SentMail = { to: string | null; kind: string; createdAt: Date; sentAt: Date | null }

/** Stored mails to a user, for parts that send none. */
export const createSentMails = ({ database }: { database: Database }) => ({
  /**
   * The mails of the last day, and those that wait to be sent, to a user or to one of these addresses. Mails to a new address that the
   * user has asked for are left out, because their kind shows whether another account has that address.
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
