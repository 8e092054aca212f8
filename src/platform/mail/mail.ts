import type { Log } from '../log.js'

export type Mail = {
  /** The id of the outbox row. It becomes the Message-ID, so that a mail delivered twice is recognised as one. */
  id: string
  to: string
  from: string
  subject: string
  text: string
  html: string
}

/** With `refused`, the mail server will never accept this mail, for example because the mailbox does not exist. */
export type Delivery = { outcome: 'accepted' } | { outcome: 'refused'; reason: string }

export type Mailer = {
  /** Rejects if the mail could not be delivered now and should be tried again later. */
  send(mail: Mail): Promise<Delivery>
  /** Rejects if the mail server does not answer or refuses our credentials. It is called by `doctor`, never by a request. */
  verify?(): Promise<{ /** False if the server did not ask for credentials. */ authenticated: boolean }>
  close(): Promise<void>
}

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
  log: Pick<Log, 'info'>
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

/**
 * For a process that sends no mails: a command, whose mails a running service sends, and production without SMTP_URL. What waits from
 * before is tried again until it is too late for it.
 */
export const noMailer: Mailer = {
  send: () => Promise.reject(new Error('this process sends no mails')),
  close: async () => undefined,
}
