import { deviceName, deviceWords } from '../../contract/device-names.js'
import type { Language } from '../../contract/languages.js'

type Device = { browser: string | null; system: string | null }

export const writtenDevice = (device: Device, language: Language) => deviceName(device, deviceWords[language])

/** "15 November 2026 at 12:00 UTC" */
export const writtenTime = (moment: Date, language: Language) =>
  new Intl.DateTimeFormat(language === 'en' ? 'en-GB' : language, {
    dateStyle: 'long',
    timeStyle: 'short',
    timeZone: 'UTC',
  })
    .format(moment)
    .concat(' UTC')
