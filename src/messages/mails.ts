import { type Refused, refuse } from '../contract/outcome.js'
import { reasonOf } from '../lib/caught.js'
import { type Clock, later } from '../lib/clock.js'
import { days, hours, minutes } from '../lib/durations.js'
import type { Seal } from '../lib/seal.js'
import { uuidFloor, uuidv7 } from '../lib/uuid.js'
import type { Database, Sql, Transaction } from '../platform/database/database.js'
import type { Log } from '../platform/log.js'
import type { Mailer } from '../platform/mail/mail.js'
import { createDeliveryRounds, lease, recordDelivery, scatterPause } from '../platform/rounds.js'
import { emailKey } from '../users/names.js'
import type { Events } from './events.js'
import type { Letterhead } from './layout.js'
import type { MailKind } from './letters.js'
import { ceilingOf, recipientKey } from './mail-limits.js'
import * as store from './mails.store.js'
import {
  type MailRequest,
  type PreparedLetterhead,
  prepareLetterhead,
  readContent,
  sealContent,
  writeMail,
} from './write-mail.js'

export type { MailRequest } from './write-mail.js'

/** Mails to the new address that a user has asked for. Which of the two was sent shows whether another account has that address. */
export const kindsHiddenFromUsers: readonly MailKind[] = ['confirm-email', 'email-taken']

/** `to` is null if the address was forgotten. `sentAt` is null if the mail waits. */
type SentMail = { to: string | null; kind: string; createdAt: Date; sentAt: Date | null }

const sentMailFrom = ({ recipient, kind, created_at, sent_at }: store.MailedRow): SentMail => ({
  to: recipient,
  kind,
  createdAt: created_at,
  sentAt: sent_at,
})

const retention = 1 * days

type QueueRefusal = Refused<'mail_is_off' | 'ceiling_reached' | 'no_user' | 'withheld'>

/** `failed`: the mail will be sent again later. */
type MailOutcome = 'accepted' | 'refused' | 'given_up' | 'failed'

type Dependencies = {
  database: Database
  clock: Clock
  seal: Seal
  mailer: Mailer
  /** Production without SMTP_URL. Nothing is queued then: a mail server that is set later must not send the mails of a year. */
  mailIsOff: boolean
  letterhead: Letterhead
  log: Pick<Log, 'info' | 'warn' | 'error'>
  events: Pick<Events, 'record'>
  onOutcome?: ((outcome: MailOutcome) => void) | undefined
}

/**
 * Writes a mail for its reader, and begins to put it into the outbox. `inserted` says whether its address has had too many of its kind. The
 * reader stays until the transaction ends.
 */
const insertMail = async (
  { clock, seal }: Dependencies,
  letterhead: PreparedLetterhead,
  sql: Transaction,
  request: MailRequest,
): Promise<{ inserted: Promise<undefined | QueueRefusal> }> => {
  // The row of the last mail to a deleted account must not show whom it was for.
  const isLast = request.template === 'account-deleted'
  const recipient = emailKey(request.to)
  const { userId } = request
  const [reader] = userId === null ? [] : await store.holdUser(sql, userId, recipient, clock.offset())
  if (userId !== null && !reader) return { inserted: Promise.resolve(refuse('no_user')) }
  const row = {
    id: uuidv7(clock.now()),
    recipientKey: isLast ? '' : recipientKey(request.to),
    recipient: isLast ? null : recipient,
    userId,
    kind: request.template,
    content: sealContent(seal, writeMail(letterhead, request, reader, clock.now())),
  }
  const ceiling = ceilingOf(request.template)
  const statements = Promise.all([
    ceiling && store.lockRecipient(sql, row.recipientKey, ceiling.kinds),
    request.withheld ? undefined : store.insert(sql, row, ceiling, clock.offset()),
  ])
  const inserted = statements.then(([, rows]) => {
    if (!rows) return refuse('withheld')
    return rows.length > 0 ? undefined : refuse('ceiling_reached')
  })
  return { inserted }
}

const retryPeriod = 2 * days

/** The pause after an attempt: one minute, two, four, and so on up to four hours. */
export const delayAfter = (attempts: number, chance: number) =>
  scatterPause(Math.min(2 ** (attempts - 1) * minutes, 4 * hours), chance)

const logFieldsOf = ({ id, kind, attempts, user_id }: store.DueMail) => ({ mail: id, userId: user_id, kind, attempts })

/**
 * Records the outcome for operators: in the metrics and as an event. A mail to an address without an account is found by the mark of the
 * address, as after a failed sign-in. The address comes from the row as it is now, because a deletion may have removed it.
 */
const recordOutcome = async (
  { events, onOutcome }: Dependencies,
  { user_id: userId, kind }: store.DueMail,
  outcome: Exclude<MailOutcome, 'failed'>,
  row: store.FinishedMail | undefined,
  failure?: string,
) => {
  onOutcome?.(outcome)
  const event = { kind: `mail_${outcome}`, reason: failure ? `${kind}: ${failure}` : kind } as const
  const typedName = userId === null ? (row?.recipient ?? undefined) : undefined
  await events.record(
    { ...event, ...(userId !== null && { userId }) },
    { ip: '', userAgent: '', ...(typedName !== undefined && { typedName }) },
  )
}

const giveUp = async (
  deps: Dependencies,
  mail: store.DueMail,
  reason: string,
  outcome: 'refused' | 'given_up' = 'given_up',
) => {
  const [row] = await recordDelivery(() => store.markGivenUp(deps.database, mail.id))
  deps.log.error({ ...logFieldsOf(mail), reason }, 'mail given up')
  await recordOutcome(deps, mail, outcome, row, reason)
}

const accept = async (deps: Dependencies, mail: store.DueMail) => {
  const [row] = await recordDelivery(() => store.markSent(deps.database, mail.id, deps.clock.offset()))
  await recordOutcome(deps, mail, 'accepted', row)
}

const postpone = async (deps: Dependencies, mail: store.DueMail, worthSendingFor: number, error: unknown) => {
  const { database, clock, log, onOutcome } = deps
  const reason = reasonOf(error)
  const delay = delayAfter(mail.attempts, Math.random())
  if (mail.age + delay > worthSendingFor) return giveUp(deps, mail, reason)
  await store.postpone(database, mail, { delay, reason, offset: clock.offset() })
  onOutcome?.('failed')
  log.warn({ ...logFieldsOf(mail), reason }, 'mail could not be sent yet')
}

/** Sends waiting mails to the mail server. The mailer's own deadline is 40 seconds, which is shorter than the lease. */
const createSender = (deps: Dependencies) => {
  const { database, clock, seal, mailer, log } = deps

  const deliver = async (mail: store.DueMail) => {
    const content = readContent(seal, mail.content)
    if (!content) {
      await giveUp(deps, mail, 'its content cannot be decrypted: the secret that encrypted it is no longer configured')
      return true
    }
    const worthSendingFor = Math.min(content.worthSendingFor ?? retryPeriod, retryPeriod)
    if (mail.age >= worthSendingFor) {
      await giveUp(deps, mail, 'it is too late to send it')
      return true
    }
    try {
      const { to, from, subject, text, html } = content
      const delivery = await mailer.send({ id: mail.id, to, from, subject, text, html })
      if (delivery.outcome === 'refused') await giveUp(deps, mail, delivery.reason, 'refused')
      else await accept(deps, mail)
      return true
    } catch (error) {
      await postpone(deps, mail, worthSendingFor, error)
      return false
    }
  }

  const claim = async () => {
    const [mail] = await store.claim(database, lease, clock.offset())
    return mail
  }

  const onFailure = (reason: string) => log.warn({ reason }, 'outgoing mail waits for the database')
  return createDeliveryRounds({ claim, deliver, onFailure })
}

export type Mails = ReturnType<typeof createMails>

export const createMails = (deps: Dependencies) => {
  const { database, clock, log, mailIsOff } = deps
  const sender = createSender(deps)
  const letterhead = prepareLetterhead(deps.letterhead)

  const insert = async (sql: Transaction, request: MailRequest) => {
    const { inserted } = await insertMail(deps, letterhead, sql, request)
    const followed = inserted.then((refusal) => {
      // The sender is nudged after the commit: before it, the sender would not find the row, and its next round comes seconds later.
      if (!refusal) sql.afterCommit(sender.nudge)
      if (refusal?.refused === 'ceiling_reached')
        log.warn(
          { userId: request.userId, kind: request.template },
          'mail not queued: too many mails of this kind to this address',
        )
      return refusal
    })
    return { followed }
  }

  /**
   * Puts a mail into the outbox, in the caller's transaction or in its own. A visitor must not see from the answer or its time whether the
   * mail was queued, so use the result only for what no visitor sees.
   */
  const queue = async (sql: Transaction | Database, request: MailRequest): Promise<undefined | QueueRefusal> => {
    if (mailIsOff) return refuse('mail_is_off')
    if ('transaction' in sql) return sql.transaction((transaction) => queue(transaction, request))
    return (await insert(sql, request)).followed
  }

  /** As `queue`, for a caller who need not know whether the mail was queued: it goes into the outbox behind this call. */
  const tell = async (sql: Transaction, request: MailRequest) => {
    if (!mailIsOff) sql.unawaited((await insert(sql, request)).followed)
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
    tell,
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
    /**
     * The mails of the last day, and those that wait to be sent, to a user or to one of these addresses. Mails to a new address that the
     * user has asked for are left out, because their kind shows whether another account has that address.
     */
    sentTo: async (userId: string, emails: readonly string[]): Promise<SentMail[]> => {
      const filter = { recipients: emails.map(emailKey), hidden: kindsHiddenFromUsers }
      return (await store.selectOfUser(database, userId, filter)).map(sentMailFrom)
    },
    /** How many mails wait for a mail server. */
    countWaiting: async () => (await store.countWaiting(database))[0]?.waiting ?? 0,
    /** How long the oldest waiting mail has waited, in seconds. */
    oldestWaitSeconds: async () => (await store.oldestWaitSeconds(database, clock.offset()))[0]?.seconds ?? 0,
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
