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
