import { setTimeout as wait } from 'node:timers/promises'
import type { BaseLogger } from 'pino'
import type { Clock } from '../../lib/clock.js'
import { days, hours, minutes, seconds } from '../../lib/durations.js'
import type { Seal } from '../../lib/seal.js'
import { withTimeout } from '../../lib/with-timeout.js'
import type { Database } from '../../platform/database/database.js'
import type { Mailer } from '../../platform/mail/mail.js'
import * as store from './mails.store.js'
import { readContent } from './sealed-mail.js'

/** Longer than any attempt may take (the mailer's own deadline is 40 seconds), so that no two attempts overlap. */
const lease = 60 * seconds
const givenUpAfter = 2 * days
const lanes = 4
const poll = 5 * seconds
const stopTimeout = 5 * seconds

/** One minute, two, four … up to four hours, plus or minus a fifth, so that waiting mails are not all tried at once. */
export const delayAfter = (attempts: number, chance: number) =>
  Math.min(2 ** (attempts - 1) * minutes, 4 * hours) * (0.8 + 0.4 * chance)

const reasonOf = (error: unknown) => (error instanceof Error ? error.message : 'unknown failure')

export type Sender = ReturnType<typeof createSender>

/** Sends waiting mails to the mail server, outside of requests. Several instances may do this at the same time. */
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
  let running = false
  let timer: NodeJS.Timeout | undefined
  let wakesAt = Number.POSITIVE_INFINITY
  let round: Promise<void> | undefined
  let again = false

  /** The mail was sent. If this were not recorded, it would be sent twice, so it is tried until the lease ends. */
  const note = async (write: () => Promise<unknown>) => {
    for (let pause = 500; ; pause *= 2) {
      try {
        await write()
        return
      } catch (error) {
        if (pause > lease / 4) throw error
        await wait(pause)
      }
    }
  }

  const giveUp = async (mail: store.DueMail, reason: string) => {
    await note(() => store.markGivenUp(database, mail.id))
    log.error({ mail: mail.id, kind: mail.kind, attempts: mail.attempts, reason }, 'mail given up')
  }

  const putOff = async (mail: store.DueMail, expiresAt: number, error: unknown) => {
    const reason = reasonOf(error)
    const delay = delayAfter(mail.attempts, Math.random())
    if (clock.now().getTime() + delay > expiresAt) return giveUp(mail, reason)
    await store.postpone(database, mail, delay, clock.offset())
    log.warn({ mail: mail.id, kind: mail.kind, attempts: mail.attempts, reason }, 'mail could not be sent yet')
  }

  /** Whether to continue with the next mail: not if the mail server cannot be reached. */
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
      else await note(() => store.markSent(database, mail.id, clock.offset()))
      return true
    } catch (error) {
      await putOff(mail, expiresAt, error)
      return false
    }
  }

  const claim = async () => {
    const [mail] = running ? await store.claim(database, lease, clock.offset()) : []
    return mail
  }

  const drain = async (claimed: store.DueMail | undefined) => {
    let mail = claimed
    while (mail && (await deliver(mail))) mail = await claim()
  }

  const sendAll = async () => {
    do {
      again = false
      const first = await claim()
      if (!first) continue
      const others = Array.from({ length: lanes - 1 }, () => claim().then(drain))
      await Promise.all([drain(first), ...others])
    } while (again && running)
  }

  /** Looks for mail after this delay, or earlier if that is already planned. */
  const wake = (delay: number) => {
    const at = performance.now() + delay
    if (!running || at >= wakesAt) return
    clearTimeout(timer)
    wakesAt = at
    timer = setTimeout(() => {
      wakesAt = Number.POSITIVE_INFINITY
      nudge()
    }, delay)
    timer.unref()
  }

  /** Looks for mail now instead of at the next round. */
  const nudge = () => {
    if (!running) return
    if (round) {
      again = true
      return
    }
    round = sendAll()
      .catch((error: unknown) => log.warn({ reason: reasonOf(error) }, 'outgoing mail waits for the database'))
      .finally(() => {
        round = undefined
        wake(poll)
      })
  }

  return {
    start: () => {
      running = true
      nudge()
    },
    /** Lets deliveries under way finish: one that is cut off after the mail was accepted would be repeated. */
    stop: async () => {
      running = false
      clearTimeout(timer)
      wakesAt = Number.POSITIVE_INFINITY
      if (round) await withTimeout(round, stopTimeout, () => undefined)
    },
    nudge,
    wake,
  }
}
