import type { BaseLogger } from 'pino'
import type { Mail, Mailer } from './mail.js'

export type DeliveredMail = Mail & { arrivedAt: Date }

/** Keeps the mails of development in memory, for the page at /dev/mailbox. */
export type DevelopmentMailbox = Mailer & {
  /** The mails, the newest first. */
  mails(): readonly DeliveredMail[]
  find(id: string): DeliveredMail | undefined
}

const maxMails = 100

export const createDevelopmentMailbox = ({
  environment,
  mailboxUrl,
  clock,
  log,
}: {
  environment: 'development' | 'test' | 'production'
  mailboxUrl: string
  clock: { now(): Date }
  log: Pick<BaseLogger, 'info'>
}): DevelopmentMailbox => {
  // A visitor who reads this mailbox can take over any account, so it must not exist in production.
  if (environment === 'production')
    throw new Error('The development mailbox does not exist in production: set SMTP_URL')
  let mails: DeliveredMail[] = []

  return {
    send: async (mail) => {
      const others = mails.filter((other) => other.id !== mail.id)
      mails = [{ ...mail, arrivedAt: clock.now() }, ...others].slice(0, maxMails)
      // The log line links to the mail and does not repeat its token: no log contains tokens.
      log.info(
        { to: mail.to, subject: mail.subject, open: `${mailboxUrl}/${mail.id}` },
        'mail for the development mailbox',
      )
      return { outcome: 'accepted' }
    },
    close: async () => {},
    mails: () => mails,
    find: (id) => mails.find((mail) => mail.id === id),
  }
}
