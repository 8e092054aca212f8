import { deviceName, readDevice } from '../contract/device-names.js'

import type { Language } from '../contract/languages.js'
import { type Client, isAdministrator } from '../http/request-origin.js'
import type { MailWords } from './letters.js'
import { wordsIn } from './words/words-in.js'

/** The client that caused what a mail is about, and the time. */
export type Origin = { client: Client; at: Date }

/** "15 November 2026 at 12:00 UTC" */
const formatTime = (moment: Date, language: Language) =>
  new Intl.DateTimeFormat(language === 'en' ? 'en-GB' : language, {
    dateStyle: 'long',
    timeStyle: 'short',
    timeZone: 'UTC',
  })
    .format(moment)
    .concat(' UTC')

/** "Firefox on Windows", in the words of a language. */
export const deviceIn = (language: Language, userAgent: string) =>
  deviceName(readDevice(userAgent), wordsIn[language].devices)

type Words = MailWords

/** For mails that a visitor asked for by typing an email address. The owner of the mailbox must not learn the visitor's IP address. */
export const askerSentence = ({ client, at }: Origin, language: Language, words: MailWords) =>
  words.byVisitor(deviceIn(language, client.userAgent), formatTime(at, language))

export const originSentence = ({ client, at }: Origin, productName: string, language: Language, words: Words) => {
  const time = formatTime(at, language)
  if (isAdministrator(client)) return words.byOperator(productName, time)
  return words.byClient(deviceIn(language, client.userAgent), client.ip, time)
}
