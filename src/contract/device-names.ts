import type { Language } from './languages.js'

type Device = { browser: string | null; system: string | null }
type DeviceWords = { unknownDevice: string; device: string; deviceOnThing: string }

/** Pages, mails and passkeys name a device alike. */
export const deviceWords: Record<Language, DeviceWords> = {
  en: { unknownDevice: 'Unknown device', device: '{browser} on {system}', deviceOnThing: '{browser} on {system}' },
  de: {
    unknownDevice: 'Unbekanntes Gerät',
    device: '{browser} unter {system}',
    deviceOnThing: '{browser} auf dem {system}',
  },
  fr: { unknownDevice: 'Appareil inconnu', device: '{browser} sur {system}', deviceOnThing: '{browser} sur {system}' },
}

/** Named by the thing itself and not by its system, which makes a difference in German. */
export const namedByThing = ['iPhone', 'iPad']

/** "Firefox on Windows" */
export const deviceName = ({ browser, system }: Device, words: DeviceWords) => {
  if (browser === null || system === null) return browser ?? system ?? words.unknownDevice
  const text = namedByThing.includes(system) ? words.deviceOnThing : words.device
  return text.replace('{browser}', browser).replace('{system}', system)
}
