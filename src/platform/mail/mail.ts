export type Mail = {
  /** The id of the outbox row. It becomes the Message-ID, so that a mail delivered twice is recognised as one. */
  id: string
  to: string
  from: string
  subject: string
  text: string
  html: string
}

/** `refused` is the mail server's last word on this one mail (no such mailbox): to try again is no use. */
export type Delivery = { outcome: 'accepted' } | { outcome: 'refused'; reason: string }

export type Mailer = {
  /** Rejects when the mail could not be handed over now and should be tried again later. */
  send(mail: Mail): Promise<Delivery>
  /** Whether the mail server answers and takes our credentials: for a word at the start, never for a request. */
  verify?(): Promise<void>
  close(): Promise<void>
}
