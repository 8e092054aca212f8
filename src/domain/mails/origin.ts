import { deviceName } from '../../contract/device-names.js'
import { deviceWords, type Language } from '../../contract/languages.js'
import { readDevice } from '../../lib/device.js'
import { type Client, isOperator } from '../sessions/client.js'
import type { MailWords } from './letters.js'

/** Who did what a mail is about, and when. */
export type Origin = { client: Pick<Client, 'ip' | 'userAgent'>; at: Date }

/** "15 November 2026 at 12:00 UTC" */
const writtenTime = (moment: Date, language: Language) =>
  new Intl.DateTimeFormat(language === 'en' ? 'en-GB' : language, {
    dateStyle: 'long',
    timeStyle: 'short',
    timeZone: 'UTC',
  })
    .format(moment)
    .concat(' UTC')

type Words = Pick<MailWords, 'byOperator' | 'byClient'>

export const writtenOrigin = ({ client, at }: Origin, productName: string, language: Language, words: Words) => {
  const time = writtenTime(at, language)
  if (isOperator(client)) return words.byOperator(productName, time)
  return words.byClient(deviceName(readDevice(client.userAgent), deviceWords[language]), client.ip, time)
}
