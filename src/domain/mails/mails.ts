import type { BaseLogger } from 'pino'
import { isLanguage, type Language } from '../../contract/languages.js'
import { type Refused, refuse } from '../../contract/outcome.js'
import { type Clock, later } from '../../lib/clock.js'
import { days, hours } from '../../lib/durations.js'
import type { Seal } from '../../lib/seal.js'
import { uuidFloor, uuidv7 } from '../../lib/uuid.js'
import { afterCommit } from '../../platform/database/after-commit.js'
import type { Database, Sql, Transaction } from '../../platform/database/database.js'
import type { Mailer } from '../../platform/mail/mail.js'
import type { Events } from '../events/events.js'
import { resetLifetime } from '../one-time-tokens/one-time-tokens.js'
import type { Client } from '../sessions/client.js'
import { emailKey } from '../users/email.js'
import { asHtml, asText, type Brand, brandForMails } from './layout.js'
import type { MailKind, MailValues } from './letters.js'
import * as store from './mails.store.js'
import { writeContent } from './sealed-mail.js'
import { createSender, type MailOutcome } from './sender.js'
import { createSentMails } from './sent-mails.js'
import { addressesOf, writeLetter } from './write-letter.js'

type RequestOf<Kind extends MailKind> = {
  to: string
  /** Whom the mail is about, or who caused it: without this user it is not sent. Null for an address without an account. */
  userId: string | null
  template: Kind
  values: MailValues[Kind]
  /** Who caused it: mails about an account name them. Their language is that of a mail to an address without an account. */
  client: Client
  /** When it happened, if not just now. */
  at?: Date
  /** Its client has caused too many mails to others: everything is done but the sending, so that nothing shows it. */
  withheld?: boolean
}
export type MailRequest = { [Kind in MailKind]: RequestOf<Kind> }[MailKind]
type NotQueued = Refused<'ceiling_reached' | 'no_user' | 'withheld'>

/**
 * Mails that any visitor can cause are limited for each address, and so are those about sign-ins. A notice after a change is
 * never limited. Resets are counted over the time that a link is valid: when the last link has expired, the next mail can be
 * sent.
 */
const ceilings: Record<MailKind, { mails: number; within: number } | undefined> = {
  'verify-email': { mails: 5, within: 1 * hours },
  'already-registered': { mails: 5, within: 1 * hours },
  'reset-password': { mails: 5, within: resetLifetime },
  // Limited for each user, where the user is told so.
  'step-up-code': undefined,
  'enrolment-code': undefined,
  'new-device': { mails: 5, within: 1 * hours },
  'device-trusted': { mails: 5, within: 1 * hours },
  'session-stolen': { mails: 5, within: 1 * hours },
  // Someone who knows the password can begin a sign-in again and again.
  'sign-in-unfinished': { mails: 1, within: 1 * days },
  // Only an operator causes it.
  invitation: undefined,
  'confirm-email': { mails: 5, within: 1 * hours },
  'email-taken': { mails: 5, within: 1 * hours },
  'address-reserved': { mails: 5, within: 1 * hours },
  // As many as the limit of changes allows: other users must not be able to use up the notices.
  'email-change-asked': undefined,
  'email-changed': undefined,
  'account-restored': undefined,
  'email-withdrawn': undefined,
  'password-changed': undefined,
  'password-reset': undefined,
  'provider-linked': undefined,
  'provider-unlinked': undefined,
  'totp-added': undefined,
  'totp-removed': undefined,
  'recovery-codes-renewed': undefined,
  'recovery-code-used': undefined,
  'wrong-codes': undefined,
  'passkey-added': undefined,
  'passkey-removed': undefined,
  'factors-reset': undefined,
  'password-expired': undefined,
  'language-changed': undefined,
  'username-changed': undefined,
  'account-deleted': undefined,
}

/**
 * One request causes one mail of these kinds, and which one depends on whether the address has an account. They share a
 * limit, so that a limit does not tell which kind it was.
 */
const alternatives: readonly (readonly MailKind[])[] = [
  ['verify-email', 'already-registered', 'address-reserved'],
  ['confirm-email', 'email-taken'],
]
/** Mails that have told the owner already that someone may know the password. */
const sameNews: Partial<Record<MailKind, readonly MailKind[]>> = {
  'sign-in-unfinished': ['wrong-codes', 'enrolment-code'],
}
const kindsCountedWith = (kind: MailKind) =>
  alternatives.find((kinds) => kinds.includes(kind)) ?? [kind, ...(sameNews[kind] ?? [])]

/**
 * One mailbox has one limit, however its address is spelled: `ada+news@example.com` is delivered to `ada@example.com`, and Google's
 * mail ignores dots and has two domains.
 */
const recipientKey = (email: string) => {
  const folded = emailKey(email).replace(/^([^+@]+)\+[^@]*@/, '$1@')
  const [, google] = /^(.+)@(?:gmail|googlemail)\.com$/.exec(folded) ?? []
  return google === undefined ? folded : `${google.replaceAll('.', '')}@gmail.com`
}

const retention = 1 * days

/**
 * The language of the recipient's account, or of the account that the mail is about. What warns the owner keeps the language from
 * before a change as long as that can be undone; a link or a code that was asked for does not. An account that was never signed in to may have none: then a
 * stranger does not choose the language of a warning.
 */
const languageFor = (
  user: store.HeldUser | undefined,
  values: object,
  { language: ofClient = 'en' }: Client,
): Language => {
  if (!user) return ofClient
  const isAskedFor = 'validFor' in values
  const chosen = (isAskedFor ? null : user.earlier_language) ?? user.language
  if (isLanguage(chosen)) return chosen
  return isAskedFor ? ofClient : 'en'
}

/** What waits for a mail server, for the metrics. */
const createWaiting = (database: Database, clock: Clock) => ({
  countWaiting: async () => {
    const [row] = await store.countWaiting(database)
    return row?.waiting ?? 0
  },
  /** How long the oldest of them has waited, in seconds. */
  oldestWaiting: async () => {
    const [row] = await store.oldestWaiting(database, clock.offset())
    return row?.seconds ?? 0
  },
})

export type Mails = ReturnType<typeof createMails>

export const createMails = ({
  database,
  clock,
  seal,
  mailer,
  publicUrl,
  brand: given,
  from,
  log,
  events,
  onOutcome,
}: {
  database: Database
  clock: Clock
  seal: Seal
  mailer: Mailer
  publicUrl: string
  brand: Brand
  from: string
  log: Pick<BaseLogger, 'info' | 'warn' | 'error'>
  events: Pick<Events, 'record'>
  onOutcome?: ((outcome: MailOutcome) => void) | undefined
}) => {
  const brand = brandForMails(given, publicUrl)
  const site = { productName: brand.name, addresses: addressesOf(publicUrl) }
  const sender = createSender({ database, clock, seal, mailer, log, events, onOutcome })

  const write = <Kind extends MailKind>(request: RequestOf<Kind>, user: store.HeldUser | undefined) => {
    const { to, template: kind, values, client, at = clock.now() } = request
    const language = languageFor(user, values, client)
    const formerUsername = user?.earlier_username ?? undefined
    const letter = writeLetter({ kind, values, language, origin: { client, at }, formerUsername }, site)
    const worthSendingFor = 'validFor' in values ? values.validFor : undefined
    const html = asHtml(letter, brand, language)
    return writeContent(seal, {
      to,
      from,
      subject: letter.subject,
      text: asText(letter),
      html,
      ...(worthSendingFor !== undefined && { worthSendingFor }),
    })
  }

  const insert = async (sql: Sql, request: MailRequest): Promise<undefined | NotQueued> => {
    // After the last mail nothing shows any more whom it was for.
    const isLast = request.template === 'account-deleted'
    const recipient = emailKey(request.to)
    const { userId } = request
    const [user] = userId === null ? [] : await store.holdUser(sql, userId, recipient, clock.offset())
    if (userId !== null && !user) return refuse('no_user')
    const row = {
      id: uuidv7(clock.now()),
      recipientKey: isLast ? '' : recipientKey(request.to),
      recipient: isLast ? null : recipient,
      userId,
      kind: request.template,
      content: write(request, user),
    }
    const limit = ceilings[request.template]
    const ceiling = limit && { ...limit, kinds: kindsCountedWith(request.template) }
    if (ceiling) await store.lockRecipient(sql, row.recipientKey, ceiling.kinds)
    if (request.withheld) return refuse('withheld')
    const inserted = await store.insert(sql, row, ceiling, clock.offset())
    return inserted.length > 0 ? undefined : refuse('ceiling_reached')
  }

  /**
   * Puts a mail into the outbox, inside the caller's transaction or on the database itself. A visitor
   * must not see from the answer or its time whether the mail was queued, so callers hardly use the result.
   */
  const queue = async (sql: Sql | Transaction | Database, request: MailRequest): Promise<undefined | NotQueued> => {
    const refused = await ('transaction' in sql
      ? sql.transaction((inside) => insert(inside, request))
      : insert(sql, request))
    if (refused?.refused === 'ceiling_reached')
      log.warn(
        { userId: request.userId, kind: request.template },
        'mail not queued: too many mails of this kind to this address',
      )
    if (refused) return refused
    // Before the commit there would be nothing to find, and the next look comes seconds later.
    afterCommit(sql, sender.nudge)
    return undefined
  }

  /** Deletes mails that were sent or given up more than a day ago, oldest first. Returns how many. */
  const purge = async (sql: Sql, limit: number) => {
    const gone = await store.deleteFinishedBefore(sql, uuidFloor(later(clock.now(), -retention)), limit)
    return gone.length
  }

  return {
    queue,
    purge,
    ...createSentMails({ database }),
    ...createWaiting(database, clock),
    start: sender.start,
    stop: sender.stop,
    nudge: sender.nudge,
  }
}
