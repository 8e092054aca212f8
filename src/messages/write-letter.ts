import { deviceName, readDevice } from '../contract/device-names.js'
import { type Language, languageName } from '../contract/languages.js'
import { labelledLinks, type SiteLinks } from '../contract/pages.js'
import { timeSpan } from '../contract/time-spans.js'
import { type Client, isAdministrator } from '../http/request-origin.js'
import {
  type Footer,
  type LocalizedValues,
  type MailKind,
  type MailValues,
  type MailWords,
  mailForms,
  type PageAddress,
  type PageInMails,
  timeSpans,
} from './letters.js'
import { wordsIn } from './words/words-in.js'

/** The client that caused what a mail is about, and the time. */
type Origin = { client: Client; at: Date }

/** To make a formatter takes longer than the rest of a mail. */
const timeFormats = new Map<Language, Intl.DateTimeFormat>()

const timeFormatOf = (language: Language) => {
  const known = timeFormats.get(language)
  if (known) return known
  const locale = language === 'en' ? 'en-GB' : language
  const format = new Intl.DateTimeFormat(locale, { dateStyle: 'long', timeStyle: 'short', timeZone: 'UTC' })
  timeFormats.set(language, format)
  return format
}

/** "15 November 2026 at 12:00 UTC" */
const formatTime = (moment: Date, language: Language) => `${timeFormatOf(language).format(moment)} UTC`

/** "Firefox on Windows", in the words of a language. */
export const deviceIn = (language: Language, userAgent: string) =>
  deviceName(readDevice(userAgent), wordsIn[language].devices)

/** For mails that a visitor asked for by typing an email address. The owner of the mailbox must not learn the visitor's IP address. */
const askerSentence = ({ client, at }: Origin, language: Language, words: MailWords) =>
  words.byVisitor(deviceIn(language, client.userAgent), formatTime(at, language))

const originSentence = ({ client, at }: Origin, productName: string, language: Language, words: MailWords) => {
  const time = formatTime(at, language)
  if (isAdministrator(client)) return words.byOperator(productName, time)
  return words.byClient(deviceIn(language, client.userAgent), client.ip, time)
}

/** What a program says about its device is no name that its user knows. */
const placeSentence = ({ client, at }: Origin, language: Language, words: MailWords) =>
  words.byProgram(client.ip, formatTime(at, language))

/** The parts of a mail. A link has its own line, so that every mail program recognises it. */
export type Block = { text: string } | { link: string; label: string } | { code: string } | { contact: string }
export type Letter = {
  subject: string
  blocks: Block[]
  footer: string
  /** Links to pages of the operator, below the footer. */
  links: readonly { label: string; address: string }[]
}

export type Site = {
  productName: string
  pageAddress: PageAddress
  links?: SiteLinks
  words?: Record<Language, MailWords>
}

const isTimeSpan = (name: string) => timeSpans.some((each) => each === name)

const changeText = (
  { change, groups }: MailValues['administrator-changed']['accountChange'],
  { accountChanges }: MailWords,
) => (groups === undefined ? accountChanges[change] : `${accountChanges[change]} (${withoutAutoLinks(groups)})`)

const localizedValues = <Values extends object>(values: Values, language: Language, words: MailWords) => {
  const localized = Object.entries(values).map(([name, value]) => {
    if (typeof value === 'number' && isTimeSpan(name)) return [name, timeSpan(value, language)]
    if (name === 'accountChange') return [name, changeText(value, words)]
    return [name, name === 'newLanguage' ? languageName(value, language) : value]
  })
  return Object.fromEntries(localized) as LocalizedValues<Values>
}

/** The values that users, programs or operators have chosen, and that may look like an address. */
const chosenNames = [
  'passkeyName',
  'tokenName',
  'programName',
  'resourceName',
  'applications',
  'invitedBy',
  'groups',
  'administrator',
  'account',
  'reason',
  'thing',
  'added',
  'removed',
  'kept',
  'before',
  'after',
] as const
/** Zero-width spaces keep mail programs from turning such a name into a link. */
const withoutAutoLinks = (name: string) => name.replaceAll(/[.:/@]/g, '\u200b$&\u200b')

type LetterRequest<Kind extends MailKind> = {
  kind: Kind
  values: MailValues[Kind]
  language: Language
  origin: Origin
  /** The username before a change that can still be undone. */
  formerUsername?: string | undefined
  /** Whether the mail has no link that opens the account, because its address was never proven. */
  opensNothing?: boolean | undefined
}

/**
 * The parts without the links that take an account back or lead to a new password, and without the sentences that lead to them. Instead the
 * mail says why they are missing.
 */
const withoutOpeningLinks = (parts: readonly string[]) => {
  const links = ['link:undo', 'link:forgotPassword']
  if (!links.some((link) => parts.includes(link))) return parts
  return [...parts.filter((part) => ![...links, 'undo', 'advice'].includes(part)), 'unproven']
}

/**
 * The values in the form that the words show. While a change of the username can be undone, the former username is shown with it. The mail
 * about a new username names both by itself.
 */
const shownValues = <Kind extends MailKind>(
  { kind, values, formerUsername }: LetterRequest<Kind>,
  words: MailWords,
) => {
  const shown: MailValues[Kind] & { username?: string } & {
    [Name in (typeof chosenNames)[number]]?: string | undefined
  } = {
    ...values,
  }
  for (const name of chosenNames) if (shown[name] !== undefined) shown[name] = withoutAutoLinks(shown[name])
  const isRenamed = formerUsername !== undefined && formerUsername !== shown.username && kind !== 'username-changed'
  if (shown.username !== undefined && isRenamed) shown.username = words.renamed(formerUsername, shown.username)
  return shown
}

type AnyValues = { token?: string; undoToken?: string; undoFor?: number; code?: string | undefined }
type AnyForm = { footer: Footer; parts: readonly string[] }

export const writeLetter = <Kind extends MailKind>(request: LetterRequest<Kind>, site: Site): Letter => {
  const { kind, language, origin } = request
  const { productName, pageAddress, links: { support } = {} } = site
  const words: MailWords = (site.words ?? wordsIn)[language]
  const sentences: Record<string, string> = words.letters[kind]({
    ...localizedValues(shownValues(request, words), language, words),
    productName,
  })
  const { token, undoToken, undoFor = 0, code } = request.values as MailValues[Kind] & AnyValues
  const form = mailForms[kind] as AnyForm | ((values: MailValues[Kind]) => AnyForm)
  const { footer, parts } = typeof form === 'function' ? form(request.values) : form

  const blocksOf = (part: string): Block[] => {
    if (part === 'origin') return [{ text: originSentence(origin, productName, language, words) }]
    if (part === 'asker') return [{ text: askerSentence(origin, language, words) }]
    if (part === 'place') return [{ text: placeSentence(origin, language, words) }]
    if (part === 'undo') return [{ text: words.undo(timeSpan(undoFor, language)) }]
    if (part === 'unproven') return [{ text: words.unproven }]
    if (part === 'help') return support === undefined ? [] : [{ text: words.help }, { contact: support }]
    if (part === 'code') return code === undefined ? [] : [{ code }]
    if (!part.startsWith('link:')) return [{ text: sentences[part] ?? '' }]
    const page = part.slice('link:'.length) as PageInMails
    return [{ link: pageAddress(page, token ?? undoToken), label: words.labels[page] }]
  }

  return {
    subject: sentences.subject ?? '',
    blocks: (request.opensNothing ? withoutOpeningLinks(parts) : parts).flatMap(blocksOf),
    footer: words.footers[footer](productName),
    links: labelledLinks(site.links ?? {}, words.links),
  }
}
