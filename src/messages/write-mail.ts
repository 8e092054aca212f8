import { type Static, Type } from 'typebox'
import { isLanguage, type Language } from '../contract/languages.js'
import type { Client } from '../http/request-origin.js'
import { createSealedJson, type Seal } from '../lib/seal.js'
import { asHtml, asText, type Letterhead, letterSite } from './layout.js'
import type { MailKind, MailValues } from './letters.js'
import type { MailReader } from './mails.store.js'
import { writeLetter } from './write-letter.js'

const Content = Type.Object({
  to: Type.String(),
  from: Type.String(),
  subject: Type.String(),
  text: Type.String(),
  html: Type.String(),
  /** The milliseconds after which the link of the mail has expired and the mail is useless. */
  worthSendingFor: Type.Optional(Type.Number()),
})

/** The content of a waiting mail. It is stored encrypted, because its links can sign a user in. */
export type Content = Static<typeof Content>

export const sealContent = (seal: Seal, content: Content) => createSealedJson(seal, Content).seal(content)

export const readContent = (seal: Seal, sealed: string | null) =>
  sealed === null ? undefined : createSealedJson(seal, Content).open(sealed)

type RequestOf<Kind extends MailKind> = {
  to: string
  /**
   * The user whom the mail is about, or who caused it. If the user is deleted, the mail is not sent. Null for an address without an
   * account.
   */
  userId: string | null
  template: Kind
  values: MailValues[Kind]
  /** The client that caused the mail. Mails about an account name it, and mails to an address without an account are in its language. */
  client: Client
  /** When the event happened that the mail is about, if not just now. */
  at?: Date
  /** True for an address that was never proven: the mail has no link that opens anything, and says so. */
  opensNothing?: boolean
  /** True if the client has caused too many mails to others. Everything is done but the sending, so that the client cannot see it. */
  withheld?: boolean
}
export type MailRequest = { [Kind in MailKind]: RequestOf<Kind> }[MailKind]

/**
 * The language of the recipient's account, or of the account that the mail is about. A warning keeps the language from before a change as
 * long as the change can be undone. A mail with a link or a code that the user asked for does not. An account that was never signed in to
 * may have no language: then a warning is in English, because the client may be an attacker.
 */
const languageFor = (
  reader: MailReader | undefined,
  values: object,
  { language: clientLanguage = 'en' }: Client,
): Language => {
  if (!reader) return clientLanguage
  const isAskedFor = 'validFor' in values
  const language = (isAskedFor ? null : reader.earlier_language) ?? reader.language
  if (isLanguage(language)) return language
  return isAskedFor ? clientLanguage : 'en'
}

/** The letterhead in the form that letters are written with. */
export const prepareLetterhead = (letterhead: Letterhead) => ({ from: letterhead.from, ...letterSite(letterhead) })
export type PreparedLetterhead = ReturnType<typeof prepareLetterhead>

/** Writes a mail to its reader, in the reader's language. */
export const writeMail = <Kind extends MailKind>(
  { from, brand, site }: PreparedLetterhead,
  request: RequestOf<Kind>,
  reader: MailReader | undefined,
  now: Date,
): Content => {
  const { to, template: kind, values, client, at = now, opensNothing } = request
  const language = languageFor(reader, values, client)
  const formerUsername = reader?.earlier_username ?? undefined
  const letter = writeLetter({ kind, values, language, origin: { client, at }, formerUsername, opensNothing }, site)
  const worthSendingFor = 'validFor' in values ? values.validFor : undefined
  return {
    to,
    from,
    subject: letter.subject,
    text: asText(letter),
    html: asHtml(letter, brand, language),
    ...(worthSendingFor !== undefined && { worthSendingFor }),
  }
}
