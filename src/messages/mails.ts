import type { BaseLogger } from 'pino'
import { type Refused, refuse } from '../contract/outcome.js'
import { type Clock, later } from '../lib/clock.js'
import { days } from '../lib/durations.js'
import type { Seal } from '../lib/seal.js'
import { uuidFloor, uuidv7 } from '../lib/uuid.js'
import { afterCommit, type Database, type Sql, type Transaction } from '../platform/database/database.js'
import type { Mailer } from '../platform/mail/mail.js'
import { emailKey } from '../users/names.js'
import type { Events } from './events.js'
import type { Letterhead } from './layout.js'
import type { MailKind } from './letters.js'
import { ceilingOf, recipientKey } from './mail-limits.js'
import { createSender, type MailOutcome } from './mail-sender.js'
import * as store from './mails.store.js'
import { createWriteMail, type MailRequest } from './write-mail.js'

export type { MailRequest } from './write-mail.js'

/** Mails to the new address that a user has asked for. Which of the two was sent shows whether another account has that address. */
export const kindsHiddenFromUsers: readonly MailKind[] = ['confirm-email', 'email-taken']

/** `to` is null if the address was forgotten. `sentAt` is null if the mail waits. */
type SentMail = { to: string | null; kind: string; createdAt: Date; sentAt: Date | null }

/** Stored mails to a user, for parts that send none. */
const createSentMails = ({ database }: { database: Database }) => ({
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

type QueueRefusal = Refused<'mail_is_off' | 'ceiling_reached' | 'no_user' | 'withheld'>

const retention = 1 * days

/** Counts the mails that wait for a mail server, for the metrics. */
const createWaitingCounts = (database: Database, clock: Clock) => ({
  countWaiting: async () => {
    const [row] = await store.countWaiting(database)
    return row?.waiting ?? 0
  },
  /** How long the oldest waiting mail has waited, in seconds. */
  oldestWaitSeconds: async () => {
    const [row] = await store.oldestWaitSeconds(database, clock.offset())
    return row?.seconds ?? 0
  },
})

type Dependencies = {
  database: Database
  clock: Clock
  seal: Seal
  mailer: Mailer
  /** Production without SMTP_URL. Nothing is queued then: a mail server that is set later must not send the mails of a year. */
  mailIsOff: boolean
  letterhead: Letterhead
  log: Pick<BaseLogger, 'info' | 'warn' | 'error'>
  events: Pick<Events, 'record'>
  onOutcome?: ((outcome: MailOutcome) => void) | undefined
}

/** Puts a mail into the outbox, unless its address has had too many of its kind. */
const createInsert = ({ clock, seal, letterhead }: Dependencies) => {
  const write = createWriteMail({ clock, seal, letterhead })

  return async (sql: Sql, request: MailRequest): Promise<undefined | QueueRefusal> => {
    // The row of the last mail to a deleted account must not show whom it was for.
    const isLast = request.template === 'account-deleted'
    const recipient = emailKey(request.to)
    const { userId } = request
    const [reader] = userId === null ? [] : await store.holdUser(sql, userId, recipient, clock.offset())
    if (userId !== null && !reader) return refuse('no_user')
    const row = {
      id: uuidv7(clock.now()),
      recipientKey: isLast ? '' : recipientKey(request.to),
      recipient: isLast ? null : recipient,
      userId,
      kind: request.template,
      content: write(request, reader),
    }
    const ceiling = ceilingOf(request.template)
    if (ceiling) await store.lockRecipient(sql, row.recipientKey, ceiling.kinds)
    if (request.withheld) return refuse('withheld')
    const inserted = await store.insert(sql, row, ceiling, clock.offset())
    return inserted.length > 0 ? undefined : refuse('ceiling_reached')
  }
}

export type Mails = ReturnType<typeof createMails>

export const createMails = (deps: Dependencies) => {
  const { database, clock, log, mailIsOff } = deps
  const sender = createSender(deps)
  const insert = createInsert(deps)

  /**
   * Puts a mail into the outbox, in the caller's transaction or in its own. A visitor must not see from the answer or its time whether the
   * mail was queued, so use the result only for what no visitor sees.
   */
  const queue = async (sql: Sql | Transaction | Database, request: MailRequest): Promise<undefined | QueueRefusal> => {
    if (mailIsOff) return refuse('mail_is_off')
    const refusal = await ('transaction' in sql
      ? sql.transaction((transaction) => insert(transaction, request))
      : insert(sql, request))
    if (refusal?.refused === 'ceiling_reached')
      log.warn(
        { userId: request.userId, kind: request.template },
        'mail not queued: too many mails of this kind to this address',
      )
    if (refusal) return refusal
    // The sender is nudged after the commit: before it, the sender would not find the row, and its next round comes seconds later.
    afterCommit(sql, sender.nudge)
    return undefined
  }

  /** Deletes mails that were sent or given up more than a day ago, oldest first. Returns how many. */
  const purge = async (sql: Sql, limit: number) => {
    const deletedRows = await store.deleteFinishedBefore(sql, uuidFloor(later(clock.now(), -retention)), limit)
    return deletedRows.length
  }

  return {
    /** Whether no mail is ever sent. What needs one is not offered then. */
    isOff: mailIsOff,
    queue,
    purge,
    /** In how many seconds the address can get the next mail of this kind, after `ceiling_reached`. Only for operators and programs. */
    secondsUntilNext: async (sql: Sql, { to, template }: Pick<MailRequest, 'to' | 'template'>) => {
      const ceiling = ceilingOf(template)
      const [row] = ceiling ? await store.secondsUntilNext(sql, recipientKey(to), ceiling, clock.offset()) : []
      return Math.max(1, Math.ceil(row?.seconds ?? 1))
    },
    /** Withdraws what waits for other addresses than the one that the user has now. */
    withdrawExceptTo: async (sql: Transaction, userId: string, email: string) => {
      await store.giveUpExceptTo(sql, userId, emailKey(email))
    },
    ...createSentMails({ database }),
    ...createWaitingCounts(database, clock),
    start: sender.start,
    stop: sender.stop,
    nudge: sender.nudge,
  }
}

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
