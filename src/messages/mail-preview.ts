import type { Language } from '../contract/languages.js'
import { asHtml, asText } from './layout.js'
import { type Letterhead, letterSite } from './letterhead.js'
import type { MailKind } from './letters.js'
import { mailExamples } from './mail-examples.js'
import { writeLetter } from './write-letter.js'

export type PreviewedMail = { subject: string; text: string; html: string }

const firefox = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:143.0) Gecko/20100101 Firefox/143.0'

/** Writes the example of a mail as the service would send it. */
export const createMailPreview = (letterhead: Letterhead) => {
  const { brand, site } = letterSite(letterhead)
  return (kind: MailKind, language: Language): PreviewedMail => {
    const origin = { client: { ip: '192.0.2.1', userAgent: firefox }, at: new Date('2026-01-31T12:00:00Z') }
    const letter = writeLetter({ kind, values: mailExamples[kind], language, origin }, site)
    return { subject: letter.subject, text: asText(letter), html: asHtml(letter, brand, language) }
  }
}
export type MailPreview = ReturnType<typeof createMailPreview>
