import { deviceName } from '../../contract/device-names.js'
import { deviceWords, type Language } from '../../contract/languages.js'
import { readDevice } from '../../lib/device.js'
import { type Client, isOperator } from '../sessions/client.js'
import type { MailKind } from './letters.js'

/** Who did what a mail is about, and when. */
export type Origin = { client: Pick<Client, 'ip' | 'userAgent'>; at: Date }

/**
 * They go to an address that a visitor has entered, and whose owner may have no account; or, after an undo, to that of a thief. Who
 * did it is not told there.
 */
const kindsWithoutOrigin: readonly MailKind[] = [
  'verify-email',
  'already-registered',
  'invitation',
  'confirm-email',
  'email-taken',
  'address-reserved',
  'email-withdrawn',
]
export const namesOrigin = (kind: MailKind) => !kindsWithoutOrigin.includes(kind)

type Words = {
  byOperator: (productName: string, time: string) => string
  byClient: (device: string, ip: string, time: string) => string
}

const words: Record<Language, Words> = {
  en: {
    byOperator: (productName, time) => `An administrator of ${productName} did this. Time: ${time}.`,
    byClient: (device, ip, time) => `Device: ${device}. IP address: ${ip}. Time: ${time}.`,
  },
  de: {
    byOperator: (productName, time) => `Das hat die Administration von ${productName} getan. Zeit: ${time}.`,
    byClient: (device, ip, time) => `Gerät: ${device}. IP-Adresse: ${ip}. Zeit: ${time}.`,
  },
  fr: {
    byOperator: (productName, time) => `Un administrateur de ${productName} l’a fait. Date : ${time}.`,
    byClient: (device, ip, time) => `Appareil : ${device}. Adresse IP : ${ip}. Date : ${time}.`,
  },
}

/** "15 November 2026 at 12:00 UTC" */
const writtenTime = (moment: Date, language: Language) =>
  new Intl.DateTimeFormat(language === 'en' ? 'en-GB' : language, {
    dateStyle: 'long',
    timeStyle: 'short',
    timeZone: 'UTC',
  })
    .format(moment)
    .concat(' UTC')

export const writtenOrigin = ({ client, at }: Origin, productName: string, language: Language) => {
  const time = writtenTime(at, language)
  if (isOperator(client)) return words[language].byOperator(productName, time)
  const device = deviceName(readDevice(client.userAgent), deviceWords[language])
  return words[language].byClient(device, client.ip, time)
}
