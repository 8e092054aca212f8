import type { BaseLogger } from 'pino'
import type { Clock } from '../lib/clock.js'
import { days, hours, minutes } from '../lib/durations.js'
import type { Seal } from '../lib/seal.js'
import type { Database } from '../platform/database/database.js'
import type { Mailer } from '../platform/mail/mail.js'
import { createDeliveryRounds, lease, reasonOf, recordDelivery, scatterPause } from '../platform/rounds.js'
import type { Events } from './events.js'
import * as store from './mails.store.js'
import { readContent } from './write-mail.js'

const retryPeriod = 2 * days

/** `failed`: the mail will be sent again later. */
export type MailOutcome = 'accepted' | 'refused' | 'given_up' | 'failed'

/** The pause after an attempt: one minute, two, four, and so on up to four hours. */
export const delayAfter = (attempts: number, chance: number) =>
  scatterPause(Math.min(2 ** (attempts - 1) * minutes, 4 * hours), chance)

type Options = {
  database: Database
  clock: Clock
  seal: Seal
  mailer: Mailer
  log: Pick<BaseLogger, 'info' | 'warn' | 'error'>
  events: Pick<Events, 'record'>
  onOutcome?: ((outcome: MailOutcome) => void) | undefined
}

/** Notes the outcome of a mail: in its row, in the log, in the metrics and as an event. */
const createOutcomes = ({ database, clock, log, events, onOutcome = () => undefined }: Options) => {
  type Final = Exclude<MailOutcome, 'failed'>
  const logFieldsOf = ({ id, kind, attempts, user_id }: store.DueMail) => ({
    mail: id,
    userId: user_id,
    kind,
    attempts,
  })

  /**
   * Records the outcome for operators. A mail to an address without an account is found by the mark of the address, as after a failed
   * sign-in. The address comes from the row as it is now, because a deletion may have removed it.
   */
  const recordOutcome = async (
    mail: store.DueMail,
    outcome: Final,
    row: store.FinishedMail | undefined,
    failure?: string,
  ) => {
    onOutcome(outcome)
    const { user_id: userId, kind } = mail
    const event = { kind: `mail_${outcome}`, reason: failure ? `${kind}: ${failure}` : kind } as const
    const typedName = userId === null ? (row?.recipient ?? undefined) : undefined
    await events.record(
      { ...event, ...(userId !== null && { userId }) },
      { ip: '', userAgent: '', ...(typedName !== undefined && { typedName }) },
    )
  }

  const giveUp = async (mail: store.DueMail, reason: string, outcome: 'refused' | 'given_up' = 'given_up') => {
    const [row] = await recordDelivery(() => store.markGivenUp(database, mail.id))
    log.error({ ...logFieldsOf(mail), reason }, 'mail given up')
    await recordOutcome(mail, outcome, row, reason)
  }

  const accept = async (mail: store.DueMail) => {
    const [row] = await recordDelivery(() => store.markSent(database, mail.id, clock.offset()))
    await recordOutcome(mail, 'accepted', row)
  }

  const postpone = async (mail: store.DueMail, worthSendingFor: number, error: unknown) => {
    const reason = reasonOf(error)
    const delay = delayAfter(mail.attempts, Math.random())
    if (mail.age + delay > worthSendingFor) return giveUp(mail, reason)
    await store.postpone(database, mail, { delay, reason, offset: clock.offset() })
    onOutcome('failed')
    log.warn({ ...logFieldsOf(mail), reason }, 'mail could not be sent yet')
  }

  return { giveUp, accept, postpone }
}

/** Sends waiting mails to the mail server. The mailer's own deadline is 40 seconds, which is shorter than the lease. */
export const createSender = (options: Options) => {
  const { database, clock, seal, mailer, log } = options
  const { giveUp, accept, postpone } = createOutcomes(options)

  const deliver = async (mail: store.DueMail) => {
    const content = readContent(seal, mail.content)
    if (!content) {
      await giveUp(mail, 'its content cannot be decrypted: the secret that encrypted it is no longer configured')
      return true
    }
    const worthSendingFor = Math.min(content.worthSendingFor ?? retryPeriod, retryPeriod)
    if (mail.age >= worthSendingFor) {
      await giveUp(mail, 'it is too late to send it')
      return true
    }
    try {
      const { to, from, subject, text, html } = content
      const delivery = await mailer.send({ id: mail.id, to, from, subject, text, html })
      if (delivery.outcome === 'refused') await giveUp(mail, delivery.reason, 'refused')
      else await accept(mail)
      return true
    } catch (error) {
      await postpone(mail, worthSendingFor, error)
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
