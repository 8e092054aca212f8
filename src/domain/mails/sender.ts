import type { BaseLogger } from 'pino'
import type { Clock } from '../../lib/clock.js'
import { days, hours, minutes } from '../../lib/durations.js'
import type { Seal } from '../../lib/seal.js'
import type { Database } from '../../platform/database/database.js'
import { createDeliveryRounds, lease, reasonOf, recordDelivery, scattered } from '../../platform/delivery-rounds.js'
import type { Mailer } from '../../platform/mail/mail.js'
import * as store from './mails.store.js'
import { readContent } from './sealed-mail.js'

const givenUpAfter = 2 * days

/** One minute, two, four … up to four hours. */
export const delayAfter = (attempts: number, chance: number) =>
  scattered(Math.min(2 ** (attempts - 1) * minutes, 4 * hours), chance)

/** Sends waiting mails to the mail server. The mailer's own deadline is 40 seconds, which is shorter than the lease. */
export const createSender = ({
  database,
  clock,
  seal,
  mailer,
  log,
}: {
  database: Database
  clock: Clock
  seal: Seal
  mailer: Mailer
  log: Pick<BaseLogger, 'info' | 'warn' | 'error'>
}) => {
  const giveUp = async (mail: store.DueMail, reason: string) => {
    await recordDelivery(() => store.markGivenUp(database, mail.id))
    log.error({ mail: mail.id, kind: mail.kind, attempts: mail.attempts, reason }, 'mail given up')
  }

  const putOff = async (mail: store.DueMail, expiresAt: number, error: unknown) => {
    const reason = reasonOf(error)
    const delay = delayAfter(mail.attempts, Math.random())
    if (clock.now().getTime() + delay > expiresAt) return giveUp(mail, reason)
    await store.postpone(database, mail, delay, clock.offset())
    log.warn({ mail: mail.id, kind: mail.kind, attempts: mail.attempts, reason }, 'mail could not be sent yet')
  }

  const deliver = async (mail: store.DueMail) => {
    const content = readContent(seal, mail.content)
    if (!content) {
      await giveUp(mail, 'its content cannot be decrypted: the secret that encrypted it is no longer configured')
      return true
    }
    const expiresAt = mail.created_at.getTime() + Math.min(content.worthSendingFor ?? givenUpAfter, givenUpAfter)
    if (clock.now().getTime() >= expiresAt) {
      await giveUp(mail, 'it is too late to send it')
      return true
    }
    try {
      const { to, from, subject, text, html } = content
      const delivery = await mailer.send({ id: mail.id, to, from, subject, text, html })
      if (delivery.outcome === 'refused') await giveUp(mail, delivery.reason)
      else await recordDelivery(() => store.markSent(database, mail.id, clock.offset()))
      return true
    } catch (error) {
      await putOff(mail, expiresAt, error)
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
