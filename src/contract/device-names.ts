import { readDevice } from './device.js'

export type DeviceWords = { unknownDevice: string; device: string; onAppleDevice: string }
type Device = { browser: string | null; system: string | null }

/** These devices are named instead of their system. German has other words for them: "auf dem iPhone". */
const appleDevices = ['iPhone', 'iPad']

/** The name of a device, such as "Firefox on Windows". */
export const deviceName = ({ browser, system }: Device, words: DeviceWords) => {
  if (browser === null || system === null) return browser ?? system ?? words.unknownDevice
  const text = appleDevices.includes(system) ? words.onAppleDevice : words.device
  return text.replace('{browser}', browser).replace('{system}', system)
}

export const englishDevices: DeviceWords = {
  unknownDevice: 'Unknown device',
  device: '{browser} on {system}',
  onAppleDevice: '{browser} on {system}',
}

/** A user agent as the API names it, in English, and the two parts of that name. */
export const describeDevice = (userAgent: string) => {
  const read = readDevice(userAgent)
  return { device: deviceName(read, englishDevices), ...read }
}
